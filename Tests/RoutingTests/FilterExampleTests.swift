import Routing
import Testing

/// The filter language by example: each line is a filter, and whether it takes the event `order`.
@Suite("Filter examples")
struct FilterExampleTests {
    struct Example: CustomTestStringConvertible, Sendable {
        var filter: String
        var expected: Bool
        var testDescription: String { "\(filter) is \(expected)" }
    }

    private static func table(_ rows: (String, Bool)...) -> [Example] {
        rows.map { Example(filter: $0.0, expected: $0.1) }
    }

    private func check(_ example: Example) throws {
        let filter = try Filter(parsing: example.filter)
        #expect(SampleEvent(order).passes(filter) == example.expected)
    }

    static let fields = table(
        ("type = 'track'", true),
        ("type = \"identify\"", false),
        ("type != 'identify'", true),
        ("'track' = type", true),
        ("type in ['identify', 'track']", true),
        ("type in ['page']", false),
        ("type = properties.currency", false),
        ("lowercase(type) = 'track'", true),
        ("type = null", false),
        ("event = 'Order Completed'", true),
        ("event = 'Order'", false),
        ("event in ['Cart Viewed', 'Order Completed']", true),
        ("event in ['Cart Viewed', 'Order Updated']", false),
        ("event in []", false),
        ("userId = 'u_1'", true),
        ("anonymousId = null", true),
        ("messageId = 'm-1'", true),
        ("context.os.name = 'iOS'", true),
        ("context.os.name.first = null", true),
        ("context.path.path = '/login'", false),
        ("properties.products.0.sku = 'A-1'", true),
        ("properties.products.1.price > 20", true),
        ("properties.products.2 = null", true),
        ("properties.product\\ 1.price = '19.99'", true),
        ("properties.city = 'Zürich'", true),
        ("properties.note = 'café \"noir\"'", true),
        ("properties.products.1.name = 'Hat, \"red\"'", true)
    )

    static let conditions = table(
        ("true", true),
        ("false", false),
        ("null", false),
        ("properties.first", true),
        ("properties.gift", false),
        ("!properties.gift", true),
        ("!!properties.first", true),
        ("properties.total", false),
        ("properties.currency", false),
        ("properties.missing", false),
        ("!properties.missing", true),
        ("properties.first and properties.gift", false),
        ("properties.first or properties.gift", true),
        ("properties.missing or properties.first", true),
        // and binds tighter than or.
        ("true or false and false", true),
        ("(true or false) and false", false),
        ("properties.first or properties.gift and properties.missing", true),
        ("(properties.first or properties.gift) and properties.missing", false),
        ("properties.gift and properties.missing or properties.first", true),
        ("!(type = 'track' and event = 'Order Completed')", false),
        ("!contains(event, 'Order') or type = 'track'", true),
        ("type = 'track' and ( event = 'Click' or match( event, 'Order *' ) )", true)
    )

    static let comparisons = table(
        ("properties.total = 1999", true),
        ("properties.total = 1999.0", true),
        ("properties.total = '1999'", false),
        ("properties.total != '1999'", true),
        ("properties.total > 1998.5", true),
        ("properties.total >= 1999", true),
        ("properties.total < 1999", false),
        ("properties.total <= 1.999e3", true),
        ("-1 < properties.total", true),
        ("properties.discount = 2.5", true),
        ("properties.text > 1", false),
        ("properties.text < 1", false),
        ("'a' < 'b'", false),
        ("properties.missing < 1", false),
        ("properties.missing >= null", false),
        ("properties.first = true", true),
        ("properties.first = 'true'", false),
        ("properties.first > 0", false),
        ("properties.gift = null", false),
        ("properties.big = 9007199254740993", true),
        ("properties.big = 9007199254740992", false),
        ("properties.big > 9007199254740992.0", true),
        ("properties.huge > 9223372036854775807", true),
        ("properties.tags = ['new', 'sale']", true),
        ("properties.tags = ['sale', 'new']", false),
        ("properties.tags != ['new']", true),
        ("properties.numbers = [1, 2, 3.0]", true),
        ("properties.empty = []", true),
        ("properties.tags = 'new'", false),
        ("properties.products = properties.products", true),
        ("properties.products.0 = properties.products.1", false),
        ("(type = 'track') = true", true),
        ("contains(event, 'Order') = properties.first", true)
    )

    static let nulls = table(
        ("properties.coupon = null", true),
        ("properties.missing = null", true),
        ("properties.missing.deeper = null", true),
        ("properties.coupon = properties.missing", true),
        ("properties.coupon != null", false),
        ("properties.total != null", true),
        ("null in properties.mixed", true),
        ("properties.missing in ['a', null]", true),
        ("properties.missing in ['a']", false),
        ("contains(properties.missing, '')", false),
        ("contains(null, 'a')", false),
        ("match(null, '*')", false),
        ("match(properties.coupon, '*')", false),
        ("length(null) = 0", true),
        ("length(properties.missing) = 0", true),
        ("lowercase(null) = null", true),
        ("titlecase(properties.coupon) = null", true),
        ("typeof(null) = 'null'", true),
        ("bool(null) = false", true),
        ("string(properties.missing) = null", true),
        ("number(properties.missing) = null", true)
    )

    static let lists = table(
        ("'new' in properties.tags", true),
        ("'old' in properties.tags", false),
        ("2 in properties.numbers", true),
        ("2.0 in properties.numbers", true),
        ("'2' in properties.numbers", false),
        ("true in properties.mixed", true),
        ("false in properties.mixed", false),
        ("properties.tags.1 in properties.tags", true),
        ("properties.products.1.name in ['x', 'Hat, \"red\"']", true),
        ("properties.total in [1, 1999]", true),
        ("properties.total in ['1999', 2000]", false),
        ("properties.gift in [false]", true),
        ("properties.gift in [true, null]", false),
        ("'a' in properties.currency", false),
        ("'a' in properties.missing", false),
        ("!( type in ['page', 'identify'] )", true)
    )

    static let functions = table(
        ("contains(event, 'Complete')", true),
        ("contains(event, 'complete')", false),
        ("contains(event, '')", true),
        ("contains(properties.note, 'é \"n')", true),
        ("contains(properties.total, '9')", false),
        ("contains(context.locale, lowercase('DE'))", true),
        ("length(event) = 15", true),
        ("length(properties.city) = 7", true),
        ("length(properties.note) = 12", true),
        ("length(properties.tags) = 2", true),
        ("length(properties.mixed) = 6", true),
        ("length(properties.empty) = 0", true),
        ("length(properties.total) = 0", true),
        ("lowercase(event) = 'order completed'", true),
        ("uppercase(properties.city) = 'ZÜRICH'", true),
        ("snakecase(event) = 'Order_Completed'", true),
        ("lowercase(kebabcase(event)) = 'order-completed'", true),
        ("titlecase('test string') = 'Test String'", true),
        ("titlecase('éa ßb') = 'Éa Ssb'", true),
        ("typeof(event) = 'string'", true),
        ("typeof(properties.total) = 'number'", true),
        ("typeof(properties.first) = 'bool'", true),
        ("typeof(properties.tags) = 'list'", true),
        ("typeof(context) = 'object'", true),
        ("typeof(properties.coupon) = 'null'", true),
        ("bool(properties.total)", true),
        ("bool(0)", false),
        ("bool(properties.currency)", true),
        ("bool(properties.blank)", false),
        ("bool('false')", false),
        ("bool(properties.empty)", false),
        ("string(properties.total) = '1999'", true),
        ("string(properties.discount) = '2.50'", true),
        ("string(properties.first) = 'true'", true),
        ("string(properties.tags) = '[\"new\",\"sale\"]'", true),
        ("string(length(event)) = '15'", true),
        ("number(properties.text) = 42", true),
        ("number(properties.currency) = null", true),
        ("number(' 42') = null", true)
    )

    static let globs = table(
        ("match('abcd', 'a*d')", true),
        ("match('', '*')", true),
        ("match('abc', 'ab')", false),
        ("match('abcd', 'a??d')", true),
        ("match('abcd', '*d')", true),
        ("match('ab*d', 'ab\\*d')", true),
        ("match('abxd', 'ab\\*d')", false),
        ("match('abCd', 'ab[cC]d')", true),
        ("match('abcd', 'ab[a-z]d')", true),
        ("match('abcd', 'ab[A-Z]d')", false),
        ("match('abcd', 'ab[^a]d')", true),
        ("match('abcd', 'ab[^a-d]d')", false),
        ("match('a-d', 'a[b-]d')", true),
        ("match('a]d', 'a[\\]]d')", true),
        ("match('abab', '*ab')", true),
        ("match('aXbXc', 'a*b*c')", true),
        ("match('aXbX', 'a*b*c')", false),
        ("match(properties.city, 'Z?rich')", true),
        ("match(properties.city, 'Z[ä-ü]rich')", true),
        ("match(event, 'order*')", false),
        ("match(event, 'Order*')", true),
        ("match(properties.star, 'a\\*b')", true),
        ("match(properties.total, '*')", false),
        ("match('a1b', properties.star)", true),
        ("match(event, properties.missing)", false)
    )

    @Test("Fields are found by path", arguments: fields) func field(_ example: Example) throws { try check(example) }
    @Test("Conditions combine", arguments: conditions) func condition(_ example: Example) throws { try check(example) }
    @Test("Comparisons are strict", arguments: comparisons) func comparison(_ example: Example) throws { try check(example) }
    @Test("A missing field is null", arguments: nulls) func null(_ example: Example) throws { try check(example) }
    @Test("in looks into lists", arguments: lists) func list(_ example: Example) throws { try check(example) }
    @Test("Functions", arguments: functions) func function(_ example: Example) throws { try check(example) }
    @Test("match is a glob over the whole string", arguments: globs) func glob(_ example: Example) throws { try check(example) }
}
