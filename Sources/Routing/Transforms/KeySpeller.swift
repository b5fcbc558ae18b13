import Events

/// Changes the spelling of event names and JSON keys.
struct KeySpeller {
    let to: NameCase
    /// Whether to change the keys of nested objects too.
    let deep: Bool

    /// Appends a name as a JSON string. Returns false, without appending, if its spelling does not change.
    /// - Parameter isEscaped: whether the decoded name may need escapes in JSON.
    func appendString(_ name: Span<UInt8>, escaped isEscaped: Bool, to output: inout [UInt8]) -> Bool {
        let start = output.count
        output.append(UInt8(ascii: "\""))
        to.append(name, to: &output)
        let spelled = start + 1..<output.count
        if output.span.extracting(spelled).hasBytes(of: name) {
            output.removeLast(output.count - start)
            return false
        }
        if isEscaped {
            let text = Array(output[spelled])
            output.removeLast(text.count)
            JSONText.appendContents(text.span, to: &output)
        }
        output.append(UInt8(ascii: "\""))
        return true
    }

    /// Copies an object and changes the spelling of its keys.
    /// - Parameter range: the object's range in `json`.
    func append(_ range: Range<Int>, of json: Span<UInt8>, to output: inout [UInt8]) {
        guard deep else { return appendShallow(range, of: json, to: &output) }
        let object = json.extracting(range)
        guard NameCase.isASCII(object), object.firstIndex(of: UInt8(ascii: "\\"), in: object.indices) == nil else {
            return appendAny(range, of: json, to: &output)
        }
        // The common case: keys need no decoding, and the maximum size is known in advance.
        output.append(addingCapacity: NameCase.growth * object.count) { output in
            var copied = 0
            var strings = StringCursor(mayHaveEscapes: false)
            while let string = strings.next(in: object) {
                guard string.isKey else { continue }
                output.append(contentsOf: object.extracting(copied..<string.contents.lowerBound))
                to.appendASCII(object.extracting(string.contents), to: &output)
                copied = string.contents.upperBound
            }
            output.append(contentsOf: object.extracting(copied..<object.count))
        }
    }

    private func appendAny(_ range: Range<Int>, of json: Span<UInt8>, to output: inout [UInt8]) {
        let object = json.extracting(range)
        var copied = 0
        var strings = StringCursor(mayHaveEscapes: true)
        while let string = strings.next(in: object) {
            guard string.isKey else { continue }
            output.append(contentsOf: object.extracting(copied..<string.contents.lowerBound))
            appendKey(object.extracting(string.contents), to: &output)
            copied = string.contents.upperBound
        }
        output.append(contentsOf: object.extracting(copied..<object.count))
    }

    private func appendShallow(_ range: Range<Int>, of json: Span<UInt8>, to output: inout [UInt8]) {
        var copied = range.lowerBound
        var members = ObjectCursor(range)
        while let member = members.next(in: json) {
            output.append(contentsOf: json.extracting(copied..<Int(member.key.offset)))
            appendKey(json.extracting(member.key.range), to: &output)
            copied = member.key.range.upperBound
        }
        output.append(contentsOf: json.extracting(copied..<range.upperBound))
    }

    private func appendKey(_ key: Span<UInt8>, to output: inout [UInt8]) {
        guard key.firstIndex(of: UInt8(ascii: "\\"), in: key.indices) != nil else { return to.append(key, to: &output) }
        var decoded: [UInt8] = []
        var spelled: [UInt8] = []
        guard JSONText.unescape(key, into: &decoded) else { return output.append(contentsOf: key) }
        to.append(decoded.span, to: &spelled)
        JSONText.appendContents(spelled.span, to: &output)
    }
}
