import Events

/// Where `context.violations` goes in an event, and what goes there.
struct PlanNote {
    /// Bytes that make way for it.
    let place: Range<Int>
    private let before: StaticString
    private let after: StaticString

    /// - Parameters:
    ///   - context: the event's, if it has one.
    ///   - violations: what stands there already.
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
            // An event is never empty: it has a type.
            (place, before, after) = (1..<1, "\"context\":{\"violations\":", "},")
        }
    }

    /// - Parameter strips: whether what could be taken out of the event was.
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
