import Events

/// Finds where to insert `context.violations` in an event, and writes it.
struct PlanNote {
    /// Range of bytes that the note replaces.
    let place: Range<Int>
    private let before: StaticString
    private let after: StaticString

    /// - Parameters:
    ///   - context: the event's context, if it has one.
    ///   - violations: an existing `context.violations`, which the note replaces.
    init(context: FieldValue, violations: FieldValue, _ json: Span<UInt8>) {
        if let range = violations.json {
            (place, before, after) = (range, "", "")
        } else if context.type == .object, let range = context.json {
            place = range.lowerBound + 1..<range.lowerBound + 1
            before = "\"violations\":"
            after = JSONMembers.isEmpty(range, json) ? "" : ","
        } else if context.type == .null, let range = context.json {
            (place, before, after) = (range, "{\"violations\":", "}")
        } else {
            // A comma is correct here, because an event always has a type and is never empty.
            (place, before, after) = (1..<1, "\"context\":{\"violations\":", "},")
        }
    }

    /// - Parameter strips: whether the offending values were stripped.
    func append(_ list: ArraySlice<PlanViolation>, strips: Bool, to output: inout [UInt8]) {
        output.append(contentsOf: before.description.utf8)
        var separator = UInt8(ascii: "[")
        for violation in list {
            output.append(separator)
            separator = UInt8(ascii: ",")
            output.append(contentsOf: "{\"property\":".utf8)
            JSONText.appendString(violation.property, to: &output)
            output.append(contentsOf: ",\"expected\":".utf8)
            JSONText.appendString(violation.expected, to: &output)
            if let found = violation.found { output.append(contentsOf: ",\"found\":\"\(found)\"".utf8) }
            if strips, violation.isOffender { output.append(contentsOf: ",\"stripped\":true".utf8) }
            output.append(UInt8(ascii: "}"))
        }
        output.append(UInt8(ascii: "]"))
        output.append(contentsOf: after.description.utf8)
    }
}
