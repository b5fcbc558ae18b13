/// Writes `Encodable` values as JSON into one reusable buffer.
///
/// Containers are written while they are filled. Open containers form a stack; writing to a container closes those
/// inside it. An `encode(to:)` may also return to a container that was closed in this way. Then the value is written a
/// second time, each container into its own writer (a *detached* writer), and the texts are joined at the end.
///
/// Only the thread that took the writer from the pool may use it. Therefore `Sendable` is unchecked.
final class JSONWriter: @unchecked Sendable {
    /// The text. Only one thread uses the writer, and no access to the text is in progress while the application's code
    /// runs, such as a value's `encode(to:)`. So a check at run time would find nothing; it costs a tenth of an event.
    var builder: JSONBuilder {
        @inline(__always) _read { yield unsafe unchecked }
        @inline(__always) _modify { yield unsafe &unchecked }
    }
    @exclusivity(unchecked) private var unchecked = JSONBuilder()
    /// The offset in the text at which the properties begin, after an event was written.
    var propertiesStart: Int?

    init() {}

    private init(insideOf parent: JSONBuilder?, maximumSize: Int) {
        builder.isDetached = true
        builder.maximumSize = maximumSize
        builder.outerDepth = parent.map { $0.outerDepth + $0.depth } ?? 0
    }

    var bytes: [UInt8] { builder.text.bytes }

    /// Removes the contents and keeps the memory.
    func removeAll() {
        builder.removeAll()
        propertiesStart = nil
    }

    /// Appends a value.
    /// - Throws: The error that the value throws, or `JSONWriterError`. Discard the text then.
    func write(_ value: some Encodable) throws { try write(value, root: nil) }

    /// Appends an event's name and properties: `"event":"…","properties":{…}`.
    func write<Event: AnalyticsEvent>(event: Event) throws {
        try write(
            event,
            root: EventRoot(
                givenName: event.eventName, policy: Event.namePolicy, propertyPolicy: Event.propertyNamePolicy,
                type: Event.self))
    }

    private func write(_ value: some Encodable, root: EventRoot?) throws {
        let start = builder.text.bytes.count
        let replaced = builder.replaced
        do {
            try writeOutermost(value, root: root)
            if let root = builder.root { try endProperties(of: root, at: root.properties) }
            builder.forgetOpen()
        } catch {
            builder.text.bytes.removeSubrange(start...)
            builder.replaced = replaced
            builder.forgetOpen()
            guard case JSONWriterError.containerWasLeft = error else { throw error }
            try writeDetached(value, root: root)
        }
    }

    private func writeDetached(_ value: some Encodable, root: EventRoot?) throws {
        let detached = JSONWriter(insideOf: nil, maximumSize: builder.maximumSize)
        try detached.writeOutermost(value, root: root)
        let start = builder.text.bytes.count
        try detached.assemble(into: &builder)
        if let root = detached.builder.root { try endProperties(of: root, at: start + root.properties) }
    }

    private func endProperties(of root: EventRoot, at start: Int) throws(JSONWriterError) {
        if root.form == .nameOnly {
            builder.unwrapOnlyValue(at: start)
            #if DEBUG
                // A release build records the value as "_0".
                if builder.hasUnlabelledValue(at: start) { throw .unlabelled }
            #endif
        }
        if root.propertyPolicy != .verbatim { try builder.spellKeys(ofObjectAt: start, root.propertyPolicy) }
        propertiesStart = start
    }

    private func writeOutermost(_ value: some Encodable, root: EventRoot?) throws {
        builder.root = root
        root == nil ? try put(value) : try encode(value)
        try builder.endRoot()
    }

    /// Writes a value where one is expected.
    func put<Value: Encodable>(_ value: Value) throws {
        if let scalar = value as? any JSONScalar, !isRootObject(scalar) { return try builder.put(scalar) }
        // The root of an event is written by the top-level writer, the parent of all others.
        if builder.isDetached, !builder.isAtRoot { return try encode(value, to: child()) }
        try encode(value)
    }

    private func encode(_ value: some Encodable) throws {
        let opening = builder.opening
        try encode(value, to: ValueEncoder(writer: self, opening: opening))
        try builder.end(opening)
    }

    /// A value that throws leaves incomplete text behind. The enclosing value may ignore the error, so the builder
    /// keeps it and fails.
    private func encode(_ value: some Encodable, to encoder: ValueEncoder) throws {
        do {
            try value.encode(to: encoder)
        } catch {
            builder.fail(error as? JSONWriterError ?? .valueFailed("\(error)"))
            throw error
        }
    }

    /// Returns whether the members of a scalar are an event's properties.
    private func isRootObject(_ scalar: any JSONScalar) -> Bool {
        guard builder.isAtRoot, case .dictionary? = scalar as? PropertyValue else { return false }
        return true
    }

    /// Opens a nested container. Call it after `enter`.
    func beginNested(isObject: Bool) -> (JSONWriter, JSONBuilder.Place) {
        guard builder.isDetached else { return (self, builder.begin(isObject: isObject, at: builder.opening)) }
        let child = child()
        return (child.writer, child.writer.builder.begin(isObject: isObject, at: child.opening))
    }

    /// Returns an encoder whose value may be written at any later time.
    func deferred() -> ValueEncoder {
        // Only a detached writer can leave a gap in the text.
        if !builder.isDetached { builder.fail(.containerWasLeft) }
        return child()
    }

    private func child() -> ValueEncoder {
        let child = JSONWriter(insideOf: builder, maximumSize: builder.maximumSize)
        if builder.isDetached { builder.children.append((builder.text.bytes.count, child)) }
        return ValueEncoder(writer: child, opening: child.builder.opening)
    }

    /// Closes all containers and inserts the text of the children at their positions.
    private func assemble(into output: inout JSONBuilder) throws(JSONWriterError) {
        if let failure = builder.failure { throw failure }
        builder.close(to: 0)
        var position = 0
        for child in builder.children {
            output.text.bytes.append(contentsOf: builder.text.bytes[position..<child.position])
            try child.writer.assemble(into: &output)
            position = child.position
        }
        output.text.bytes.append(contentsOf: builder.text.bytes[position...])
        output.replaced += builder.replaced
        // The value encoded nothing.
        if builder.text.bytes.isEmpty && builder.children.isEmpty { output.text.append("{}") }
    }
}
