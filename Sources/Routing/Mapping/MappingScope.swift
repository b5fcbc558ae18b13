import Events

/// What paths in a part of a mapping mean: the event, an item of a list, or what `$transform` made.
/// Lives no longer than the bytes.
struct MappingScope: ~Escapable {
    let view: EventView
    /// Of each of the scope's paths: its number in `view.fields`.
    let paths: [Int]
    let run: MappingRun

    @_lifetime(copy view)
    init(view: consuming EventView, paths: [Int], run: MappingRun) {
        self.view = view
        self.paths = paths
        self.run = run
    }

    @inline(__always)
    func value(_ path: Int) -> FieldValue { view.value(paths[path]) }

    /// Runs a node for another value than this scope's.
    /// - Parameters:
    ///   - inner: the scope's number.
    ///   - json: the value; validated before.
    /// - Returns: as the node's; false also if it takes too many steps.
    func write(
        _ node: any MappingNode, inner: Int, _ json: Span<UInt8>, to output: inout [UInt8]
    ) -> Bool {
        guard run.enters(inner, bytes: json.count) else { return false }
        let (fields, paths) = run.inner[inner - 1]
        fields.startEvent()
        let view = EventView(json: json, index: EventIndex(kind: self.view.index.kind), fields: fields)
        return node.write(MappingScope(view: view, paths: paths, run: run), to: &output)
    }

    /// The node's value to look at: of a string its decoded text, of everything else its JSON, put in
    /// place of what `text` held.
    /// - Returns: its type; never `.escapedString`.
    func read(_ node: any MappingNode, into text: inout [UInt8]) -> FieldType {
        text.removeAll(keepingCapacity: true)
        if case .path(let path) = node.field {
            let value = value(path)
            return Self.decode(value, of: view.json, into: &text)
        }
        var json = run.takeBuffer()
        defer { run.giveBack(&json) }
        guard node.write(self, to: &json) else { return .missing }
        return Self.decode(FieldValue(of: json.span), of: json.span, into: &text)
    }

    private static func decode(_ value: FieldValue, of json: Span<UInt8>, into text: inout [UInt8]) -> FieldType {
        switch value.type {
        case .missing: return .missing
        case .escapedString:
            guard JSONText.unescape(json.extracting(value.slice.range), into: &text) else { return .missing }
            return .string
        default:
            text.append(contentsOf: json.extracting(value.slice.range))
            return value.type
        }
    }

    /// The node's value as JSON, in place of what `json` held.
    func readJSON(_ node: any MappingNode, into json: inout [UInt8]) -> FieldType {
        json.removeAll(keepingCapacity: true)
        guard node.write(self, to: &json) else { return .missing }
        return FieldValue(of: json.span).type
    }
}

extension FieldValue {
    /// A whole JSON value, known to be valid, without white space around it.
    init(of json: Span<UInt8>) {
        guard json.count > 0 else {
            self = .missing
            return
        }
        let whole = Slice(offset: 0, length: UInt32(clamping: json.count))
        switch json[0] {
        case UInt8(ascii: "\""):
            var isEscaped = false
            for position in 1..<json.count where json[position] == UInt8(ascii: "\\") {
                isEscaped = true
                break
            }
            let contents = Slice(offset: 1, length: UInt32(clamping: max(0, json.count - 2)))
            self.init(slice: contents, type: isEscaped ? .escapedString : .string)
        case UInt8(ascii: "{"): self.init(slice: whole, type: .object)
        case UInt8(ascii: "["): self.init(slice: whole, type: .array)
        case UInt8(ascii: "n"): self.init(slice: whole, type: .null)
        case UInt8(ascii: "t"): self.init(slice: whole, type: .true)
        case UInt8(ascii: "f"): self.init(slice: whole, type: .false)
        default: self.init(slice: whole, type: .number)
        }
    }
}
