import Events

/// The value at which paths in a part of a mapping start: the event, an item of a list, a member's value, or the result
/// of `$transform`'s `apply`. Must not outlive the value's bytes.
struct MappingScope: ~Copyable, ~Escapable {
    let view: EventView
    /// For each path of the scope: its index in `view.fields`.
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

    /// Runs a node with another value as its scope.
    /// - Parameters:
    ///   - inner: the number of the inner scope.
    ///   - json: the value; must be valid JSON.
    /// - Returns: the node's result; also false if a bound is exceeded.
    func write(
        _ node: any MappingNode, inner: Int, _ json: Span<UInt8>, to output: inout [UInt8]
    ) -> Bool {
        guard run.enters(inner, bytes: json.count) else { return false }
        let (fields, paths) = run.inner[inner - 1]
        fields.startEvent()
        let view = EventView(json: json, index: EventIndex(kind: self.view.index.kind), fields: fields)
        return node.write(MappingScope(view: view, paths: paths, run: run), to: &output)
    }

    /// Reads a node's value for inspection, replacing the contents of `text`: a string as its decoded text, any other
    /// value as its JSON.
    /// - Returns: the value's type; never `.escapedString`.
    func read(_ node: any MappingNode, into text: inout [UInt8]) -> FieldType {
        text.removeAll(keepingCapacity: true)
        if case .path(let path) = node.field {
            let value = value(path)
            return Self.decode(value, of: view.memory, into: &text)
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

    /// Reads a node's value as JSON, replacing the contents of `json`.
    func readJSON(_ node: any MappingNode, into json: inout [UInt8]) -> FieldType {
        json.removeAll(keepingCapacity: true)
        guard node.write(self, to: &json) else { return .missing }
        return FieldValue(of: json.span).type
    }
}

extension FieldValue {
    /// Describes a complete JSON value, which must be valid and without surrounding white space.
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
