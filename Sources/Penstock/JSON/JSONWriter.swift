/// Writes values that encode themselves as JSON, straight into one buffer that is used again and again.
///
/// Containers are written as they are filled: what is open is a stack, and whoever writes to a
/// container closes those inside it. An `encode(to:)` may also go back to a container that was closed so;
/// then everything is written once more, each container into a writer of its own (a *detached* one), and
/// put together at the end.
///
/// One thread at a time: whoever took it from the pool. Hence unchecked.
final class JSONWriter: @unchecked Sendable {
    /// What is written. No access to it is under way while a value encodes itself.
    var builder = JSONBuilder()
    /// Where the properties begin in the text, if an event was written.
    var propertiesStart: Int?

    init() {}

    private init(insideOf parent: JSONBuilder?, maximumSize: Int) {
        builder.isDetached = true
        builder.maximumSize = maximumSize
        builder.outerDepth = parent.map { $0.outerDepth + $0.depth } ?? 0
    }

    var bytes: [UInt8] { builder.text.bytes }

    /// Forgets the contents, keeps the memory.
    func removeAll() {
        builder.removeAll()
        propertiesStart = nil
    }

    /// Appends a value.
    /// - Throws: what the value throws, or `JSONWriterError`; then the text is as before.
    func write(_ value: some Encodable) throws { try write(value, root: nil) }

    /// Appends an event's name and properties: `"event":"…","properties":{…}`.
    func write<Event: AnalyticsEvent>(event: Event) throws {
        try write(event, root: EventRoot(givenName: event.eventName, policy: Event.namePolicy, type: Event.self))
    }

    private func write(_ value: some Encodable, root: EventRoot?) throws {
        let start = builder.text.bytes.count
        do {
            try writeOutermost(value, root: root)
            if let root = builder.root { endProperties(of: root, at: root.properties) }
            builder.forgetOpen()
        } catch {
            builder.text.bytes.removeSubrange(start...)
            builder.forgetOpen()
            guard case JSONWriterError.containerWasLeft = error else { throw error }
            try writeDetached(value, root: root)
        }
    }

    private func writeDetached(_ value: some Encodable, root: EventRoot?) throws {
        let detached = JSONWriter(insideOf: nil, maximumSize: builder.maximumSize)
        try detached.writeOutermost(value, root: root)
        let start = builder.text.bytes.count
        detached.assemble(into: &builder)
        if let root = detached.builder.root { endProperties(of: root, at: start + root.properties) }
    }

    private func endProperties(of root: EventRoot, at start: Int) {
        if root.form == .nameOnly { builder.unwrapOnlyValue(at: start) }
        propertiesStart = start
    }

    private func writeOutermost(_ value: some Encodable, root: EventRoot?) throws {
        builder.root = root
        root == nil ? try put(value) : try encode(value)
        try builder.endRoot()
    }

    /// Writes a value where one is due.
    func put<Value: Encodable>(_ value: Value) throws {
        if let scalar = value as? any JSONScalar, !isRootObject(scalar) { return try builder.put(scalar) }
        // At an event's root the writer is still the one that all others are children of.
        if builder.isDetached, !builder.isAtRoot { return try value.encode(to: child()) }
        try encode(value)
    }

    private func encode(_ value: some Encodable) throws {
        let opening = builder.opening
        try value.encode(to: ValueEncoder(writer: self, opening: opening))
        try builder.end(opening)
    }

    /// Whether the members of a scalar are an event's properties.
    private func isRootObject(_ scalar: any JSONScalar) -> Bool {
        guard builder.isAtRoot, case .object? = scalar as? PropertyValue else { return false }
        return true
    }

    /// Makes a container that is inside another one, after `enter`.
    func beginNested(isObject: Bool) -> (JSONWriter, JSONBuilder.Place) {
        guard builder.isDetached else { return (self, builder.begin(isObject: isObject, at: builder.opening)) }
        let child = child()
        return (child.writer, child.writer.builder.begin(isObject: isObject, at: child.opening))
    }

    /// An encoder whose value may be written at any later time.
    func deferred() -> ValueEncoder {
        // Only a detached writer can leave a gap.
        if !builder.isDetached { builder.fail(.containerWasLeft) }
        return child()
    }

    private func child() -> ValueEncoder {
        let child = JSONWriter(insideOf: builder, maximumSize: builder.maximumSize)
        if builder.isDetached { builder.children.append((builder.text.bytes.count, child)) }
        return ValueEncoder(writer: child, opening: child.builder.opening)
    }

    /// Closes everything, and puts the children where they belong.
    private func assemble(into output: inout JSONBuilder) {
        builder.close(to: 0)
        var position = 0
        for child in builder.children {
            output.text.bytes.append(contentsOf: builder.text.bytes[position..<child.position])
            child.writer.assemble(into: &output)
            position = child.position
        }
        output.text.bytes.append(contentsOf: builder.text.bytes[position...])
        output.replaced += builder.replaced
        // A value that encodes nothing.
        if builder.text.bytes.isEmpty && builder.children.isEmpty { output.text.append("{}") }
    }
}
