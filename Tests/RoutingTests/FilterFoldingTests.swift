import Routing
import Testing

@Suite("Constants in filters")
struct FilterFoldingTests {
    /// Pairs of a constant and a field with the same value.
    private static let values = [
        ("true", "properties.yes"), ("false", "properties.no"), ("null", "properties.nothing"), ("'a'", "properties.a"),
        ("''", "properties.empty"), ("1", "properties.one"), ("0", "properties.zero"), ("2.5", "properties.more"),
    ]

    private static let event = SampleEvent(
        """
        {"type":"track","event":"a","messageId":"m","userId":"u","properties":{"yes":true,"no":false,"nothing":null,\
        "a":"a","empty":"","one":1,"zero":0,"more":2.5}}
        """)

    @Test(arguments: [
        "!(properties.x and false)", "type = 'track' and bool(properties.x or true)",
        "type = 'track' and (properties.x or true) = true", "type = 'page' or !(properties.x and false)",
        "type = 'track' and !(properties.x and null)", "type = 'track' and typeof(properties.x and false) = 'bool'",
        "type = 'track' and !(event = 'X' and length('') > 0)", "(properties.x and false) in [false]",
    ])
    func `a constant part of a filter keeps its value at every place`(text: String) throws {
        #expect(Self.event.passes(try Filter(parsing: text)))
    }

    @Test
    func `a filter of constants gives the same answer as one of fields with the same values`() throws {
        var random = FilterFuzzTests.Generator(state: 4)
        var passing = 0
        var count = 0
        while count < 20_000 {
            let (constants, fields) = Self.condition(depth: 4, &random)
            // The parser refuses constants that a function can never take.
            guard let filter = try? Filter(parsing: constants) else { continue }
            let expected = Self.event.passes(try Filter(parsing: fields))
            #expect(Self.event.passes(filter) == expected, "\(constants)\n\(fields)")
            passing += expected ? 1 : 0
            count += 1
        }
        #expect((2_000...18_000).contains(passing))
    }

    /// Makes two filters that differ only in constants of the first that are fields in the second.
    private static func condition(depth: Int, _ random: inout FilterFuzzTests.Generator) -> (String, String) {
        func two(_ make: (String, String) -> String, _ a: (String, String), _ b: (String, String)) -> (String, String) {
            (make(a.0, b.0), make(a.1, b.1))
        }
        guard depth > 0 else { return value(depth: 0, &random) }
        let (a, b) = (condition(depth: depth - 1, &random), condition(depth: depth - 1, &random))
        switch Int.random(in: 0..<7, using: &random) {
        case 0: return two({ "(\($0) and \($1))" }, a, b)
        case 1: return two({ "(\($0) or \($1))" }, a, b)
        case 2: return two({ first, _ in "(!\(first))" }, a, b)
        case 3: return two({ first, _ in "bool(\(first))" }, a, b)
        case 4:
            let comparison = ["=", "!="].randomElement(using: &random) ?? "="
            return two({ "(\($0) \(comparison) \($1))" }, a, b)
        case 5: return two({ first, _ in "(\(first) in [true, 'a', 1])" }, value(depth: 2, &random), b)
        default:
            let comparison = ["=", "!=", "<", ">="].randomElement(using: &random) ?? "="
            return two({ "(\($0) \(comparison) \($1))" }, value(depth: 2, &random), value(depth: 2, &random))
        }
    }

    private static func value(depth: Int, _ random: inout FilterFuzzTests.Generator) -> (String, String) {
        if depth > 0, Bool.random(using: &random) {
            let function = ["length", "typeof", "string", "number"].randomElement(using: &random) ?? "length"
            let operand = depth > 1 ? condition(depth: 1, &random) : value(depth: depth - 1, &random)
            return ("\(function)(\(operand.0))", "\(function)(\(operand.1))")
        }
        // Some constants stay fields.
        let (constant, field) = values.randomElement(using: &random) ?? ("true", "properties.yes")
        return (Int.random(in: 0..<4, using: &random) == 0 ? field : constant, field)
    }
}
