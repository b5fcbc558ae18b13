import Routing
import Testing

@Suite("Filter errors")
struct FilterErrorTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var filter: String
        var column: Int
        var length: Int
        var message: String
        var hint: String?
        var testDescription: String { filter }
    }

    static let cases: [Case] = [
        Case(
            filter: "", column: 0, length: 0, message: "the filter is empty", hint: "to match every event, write true"),
        Case(
            filter: "type =", column: 6, length: 0,
            message: "unexpected end of the filter; expected a field, a value or ("),
        Case(filter: "type == 'a'", column: 5, length: 2, message: "== is not an operator", hint: "write ="),
        Case(filter: "a && b", column: 2, length: 2, message: "& is not an operator", hint: "write and"),
        Case(filter: "a <> 1", column: 2, length: 2, message: "<> is not an operator", hint: "write !="),
        Case(
            filter: "a AND b", column: 2, length: 3, message: "AND is not a word of the language",
            hint: "write and; a field of that name is written \\AND"),
        Case(
            filter: "event = 'Order", column: 8, length: 6, message: "this string has no closing '",
            hint: "strings have no escapes: to write a quote in a string, use the other kind of quotes around it"),
        Case(
            filter: "userId = oops\"", column: 13, length: 1, message: "this string has no closing \"",
            hint: "strings have no escapes: to write a quote in a string, use the other kind of quotes around it"),
        Case(
            filter: "contain(event, 'a')", column: 0, length: 7, message: "unknown function contain",
            hint: "did you mean contains?"),
        Case(
            filter: "type = 'é' and lowercse(event) = 'a'", column: 16, length: 8, message: "unknown function lowercse",
            hint: "did you mean lowercase?"),
        Case(
            filter: "contains(event)", column: 0, length: 15, message: "contains takes 2 arguments, found 1",
            hint: "write contains(text, part)"),
        Case(
            filter: "length() = 1", column: 0, length: 8, message: "length takes 1 argument, found 0",
            hint: "write length(value)"),
        Case(
            filter: "contains(event, 5)", column: 16, length: 1, message: "contains works on strings, this is a number",
            hint: "string( … ) makes a string of other values"),
        Case(filter: "(a or b", column: 0, length: 1, message: "this is never closed: ) is missing at the end"),
        Case(filter: "a in ['x', 'y'", column: 5, length: 1, message: "this is never closed: ] is missing at the end"),
        Case(filter: "a in ['x' 'y']", column: 10, length: 3, message: "unexpected \"'y'\"; expected , or ]"),
        Case(
            filter: "a in [b]", column: 6, length: 1,
            message: "a list holds strings, numbers, true, false and null; found b",
            hint: "to compare with fields, write several comparisons and join them with or"),
        Case(
            filter: "a in 'xyz'", column: 5, length: 5, message: "in needs a list on its right, this is a string",
            hint: "write [ … ], or the path of a field that holds a list"),
        Case(filter: "a b", column: 2, length: 1, message: "unexpected \"b\"; expected and, or, or the end"),
        Case(filter: "a)", column: 1, length: 1, message: "unexpected \")\"; expected and, or, or the end"),
        Case(
            filter: "not a", column: 4, length: 1, message: "unexpected \"a\"; expected and, or, or the end",
            hint: "write !( … )"),
        Case(
            filter: "event like 'a%'", column: 6, length: 4,
            message: "unexpected \"like\"; expected and, or, or the end",
            hint: "write match(event, \"pattern*\")"),
        Case(
            filter: "a = b = c", column: 6, length: 1, message: "comparisons do not chain",
            hint: "join two comparisons with and"),
        Case(
            filter: "!type = 'track'", column: 0, length: 7, message: "! binds tighter than =",
            hint: "write !( … ) around the comparison, or use !="),
        Case(
            filter: "'a' and b", column: 0, length: 3, message: "expected a condition; this is a string",
            hint: "compare it with something, as in: type = \"track\""),
        Case(
            filter: "lowercase(event)", column: 0, length: 16, message: "expected a condition; this is a string",
            hint: "compare it with something, as in: type = \"track\""),
        Case(
            filter: "a.b. = 1", column: 4, length: 1, message: "expected a field name, not a space",
            hint: "a dot separates two names; write \\. for a dot inside a name"),
        Case(
            filter: "gr€ße = 1", column: 2, length: 3, message: "€ is not allowed here",
            hint: "in a field's name, write it as \\€"),
        Case(
            filter: "properties.total > 1_000", column: 19, length: 5, message: "1_000 is not a number",
            hint: "write 1000; a field of that name is written \\1_000"),
        Case(
            filter: "a > .5", column: 4, length: 2, message: ".5 is not a number",
            hint: "write 0.5; a field of that name is written \\.5"),
        Case(
            filter: "a > 5.", column: 4, length: 2, message: "5. is not a number",
            hint: "write 5; a field of that name is written \\5."),
        Case(
            filter: "a > +1 and b", column: 4, length: 2, message: "+1 is not a number",
            hint: "write 1; a field of that name is written \\+1"),
        Case(
            filter: "a > -.5", column: 4, length: 3, message: "-.5 is not a number",
            hint: "write -0.5; a field of that name is written \\-.5"),
        Case(
            filter: "a in [007]", column: 6, length: 3, message: "007 is not a number",
            hint: "write 7; a field of that name is written \\007"),
        Case(
            filter: "(a > 0x1F)", column: 5, length: 4, message: "0x1F is not a number",
            hint: "write 31; a field of that name is written \\0x1F"),
        Case(
            filter: "a > 10%", column: 4, length: 3, message: "10% is not a number",
            hint: "a number is written 10, -2.5 or 1e6; a field of that name is written \\10%"),
        Case(
            filter: "1.2.3 = a", column: 0, length: 5, message: "1.2.3 is not a number",
            hint: "a number is written 10, -2.5 or 1e6; a field of that name is written \\1.2.3"),
        Case(
            filter: "a > 1e", column: 4, length: 2, message: "1e is not a number",
            hint: "a number is written 10, -2.5 or 1e6; a field of that name is written \\1e"),
        Case(
            filter: "a > 1,000", column: 5, length: 1, message: "unexpected \",\"; expected and, or, or the end",
            hint: "a number has no commas: write 1000, or 1.5"),
        Case(
            filter: "a and properties.items[0].sku = 'x'", column: 22, length: 1, message: "[ is not allowed here",
            hint: "write the number of a list item, from 0, after a dot: properties.items.0.sku"),
        Case(
            filter: "a.$b = 1", column: 2, length: 1, message: "expected a field name, not $",
            hint: "in a field's name, write it as \\$"),
        Case(filter: "a = b\\", column: 5, length: 1, message: "a \\ at the end escapes nothing"),
        Case(
            filter: "match(event, 'a[bc')", column: 15, length: 3, message: "this [ is never closed, or it is empty",
            hint: "write \\[ for the character itself"),
        Case(
            filter: "match(event, 'a\\')", column: 15, length: 1, message: "a \\ at a pattern's end escapes nothing",
            hint: "write \\\\ for the character itself"),
    ]

    @Test(arguments: cases)
    func `an error has its column, the problem and a hint`(_ example: Case) throws {
        let error = try #require(throws: FilterError.self) { try Filter(parsing: example.filter) }
        #expect(
            error
                == FilterError(
                    column: example.column, length: example.length, message: example.message, hint: example.hint))
    }

    @Test(arguments: [
        String(repeating: "(", count: 50_000), String(repeating: "!", count: 50_000) + "a",
        String(repeating: "bool(", count: 10_000) + "a",
        String(repeating: "(", count: 65) + "true" + String(repeating: ")", count: 65),
    ])
    func `nesting is limited in every notation`(_ text: String) throws {
        let error = try #require(throws: FilterError.self) { try Filter(parsing: text) }
        #expect(error.message == "this filter is nested deeper than 64 levels")
    }

    @Test
    func `a filter may have 64 levels and any number of operands on one level`() throws {
        let deep = String(repeating: "(", count: 64) + "true" + String(repeating: ")", count: 64)
        #expect(SampleEvent(order).passes(try Filter(parsing: deep)))
        let wide = [String](repeating: "event = 'x'", count: 3_000).joined(separator: " or ") + " or type = 'track'"
        #expect(SampleEvent(order).passes(try Filter(parsing: wide)))
    }

    @Test
    func `a filter above 64 KiB is refused`() throws {
        let text = "event = '" + String(repeating: "x", count: 64 << 10) + "'"
        let error = try #require(throws: FilterError.self) { try Filter(parsing: text) }
        #expect(error.message == "a filter has at most 65536 bytes, this one has 65546")
    }

    @Test
    func `a pattern with many stars takes linear, not exponential time`() throws {
        let text = String(repeating: "a", count: 10_000)
        let pattern = String(repeating: "*a", count: 100) + "b"
        let event = SampleEvent(#"{"type":"track","event":"\#(text)","userId":"u"}"#)
        #expect(!event.passes(try Filter(parsing: "match(event, '\(pattern)')")))
        #expect(event.passes(try Filter(parsing: "match(event, '\(String(repeating: "*a", count: 100))')")))
    }

    @Test
    func `contains finds a long part in a repetitive text`() throws {
        let part = String(repeating: "ab", count: 100) + "c"
        let event = SampleEvent(
            #"{"type":"track","event":"\#(String(repeating: "ab", count: 300) + "c")","userId":"u","p":"\#(part)","q":"\#(part)x"}"#
        )
        #expect(event.passes(try Filter(parsing: "contains(event, p)")))
        #expect(!event.passes(try Filter(parsing: "contains(event, q)")))
    }
}
