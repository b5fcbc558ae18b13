import Events

/// Changes an event so that it does not break a limit. A text that is too long is cut. Of an object or a list, the
/// first members stay, and those with other names are removed. A value that breaks the limit otherwise is removed.
struct LimitMend {
    private let check: LimitCheck
    private var limit: OutputLimit { check.limit }

    init(_ limit: OutputLimit, _ now: Int64) { check = LimitCheck(limit, now) }

    /// - Parameter json: the event; valid JSON.
    /// - Returns: nil: the event does not break the limit, or no change can help: it lacks a value, or nothing would be
    ///   left of it.
    func changed(_ json: Span<UInt8>) -> [UInt8]? {
        guard check.problem(with: json) != nil else { return nil }
        var output: [UInt8] = []
        guard write(at: limit.path[...], FieldValue(of: json), json, to: &output),
            check.problem(with: output.span) == nil
        else { return nil }
        return output
    }

    /// - Returns: false: the value is to be removed. Nothing is written then.
    private func write(
        at path: ArraySlice<String>, _ value: FieldValue, _ json: Span<UInt8>, to output: inout [UInt8]
    ) -> Bool {
        guard let range = value.json else { return false }
        guard let step = path.first else { return writeMended(value, json, to: &output) }
        let rest = path.dropFirst()
        switch value.type {
        case .object:
            writeMembers(of: range, json, to: &output) { name, member, output in
                let isMeant = step == name || step == "*" && !limit.exceptions.contains(name)
                return isMeant ? write(at: rest, member, json, to: &output) : copy(member, json, to: &output)
            }
        case .array:
            writeItems(of: range, json, to: &output) { number, item, output in
                let isMeant = step == "*" || step == "\(number)"
                return isMeant ? write(at: rest, item, json, to: &output) : copy(item, json, to: &output)
            }
        default: return copy(value, json, to: &output)
        }
        return true
    }

    /// Writes a value to which the limit applies.
    private func writeMended(_ value: FieldValue, _ json: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard check.problem(with: value, json, "") != nil else { return copy(value, json, to: &output) }
        let start = output.count
        guard let range = value.json else { return false }
        let most = limit.maximumMembers ?? .max
        switch value.type {
        case .object:
            var count = 0
            writeMembers(of: range, json, to: &output) { name, member, output in
                guard count < most, check.problem(withName: name) == nil else { return false }
                count += 1
                return copy(member, json, to: &output)
            }
        case .array:
            writeItems(of: range, json, to: &output) { number, item, output in
                number < most && copy(item, json, to: &output)
            }
        case .string, .escapedString:
            guard let maximumLength = limit.maximumLength else { return false }
            var text: [UInt8] = []
            if value.type == .string {
                text.append(contentsOf: json.extracting(value.slice.range))
            } else if !JSONText.unescape(json.extracting(value.slice.range), into: &text) {
                return false
            }
            JSONText.appendString(text.span.extracting(..<Self.end(of: text, characters: maximumLength)), to: &output)
        default: return false
        }
        // Cut or not, it may break another bound of the limit.
        if isAllowed(output.span.extracting(start...)) { return true }
        output.removeLast(output.count - start)
        return false
    }

    private func isAllowed(_ json: Span<UInt8>) -> Bool {
        check.problem(with: FieldValue(of: json), json, "") == nil
    }

    /// Where the first characters of a text end.
    private static func end(of text: [UInt8], characters: Int) -> Int {
        var count = 0
        // Bytes that begin a character are all but those of the form 10xxxxxx.
        for index in text.indices where text[index] & 0xC0 != 0x80 {
            if count == characters { return index }
            count += 1
        }
        return text.count
    }

    private func copy(_ value: FieldValue, _ json: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        guard let range = value.json else { return false }
        output.append(contentsOf: json.extracting(range))
        return true
    }

    /// - Parameter write: writes a member's value; false: the member is left out, and nothing is written.
    private func writeMembers(
        of range: Range<Int>, _ json: Span<UInt8>, to output: inout [UInt8],
        _ write: (String, FieldValue, inout [UInt8]) -> Bool
    ) {
        output.append(UInt8(ascii: "{"))
        let start = output.count
        var members = ObjectCursor(range)
        while let member = members.next(in: json) {
            let mark = output.count
            if mark > start { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            output.append(contentsOf: json.extracting(member.key.range))
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
            let name = JSONText.string(json.extracting(member.key.range)) ?? ""
            if !write(name, member.value, &output) { output.removeLast(output.count - mark) }
        }
        output.append(UInt8(ascii: "}"))
    }

    private func writeItems(
        of range: Range<Int>, _ json: Span<UInt8>, to output: inout [UInt8],
        _ write: (Int, FieldValue, inout [UInt8]) -> Bool
    ) {
        output.append(UInt8(ascii: "["))
        let start = output.count
        var items = ListCursor(range)
        var number = 0
        while let item = items.next(in: json) {
            let mark = output.count
            if mark > start { output.append(UInt8(ascii: ",")) }
            if !write(number, item, &output) { output.removeLast(output.count - mark) }
            number += 1
        }
        output.append(UInt8(ascii: "]"))
    }
}
