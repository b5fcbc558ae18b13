/// Writes values that encode themselves as JSON, straight into one buffer that is used again and again.
///
/// Containers are written as they are filled: what is open is a stack, and whoever writes to a
/// container closes those inside it. An `encode(to:)` may also go back to a container that was closed so;
/// then everything is written once more, each container into a writer of its own (`isDetached`), and put
/// together at the end.
///
/// One thread at a time: whoever took it from the pool. Hence unchecked.
final class JSONWriter: @unchecked Sendable {
    /// Something that is being filled.
    private struct Container {
        var serial: UInt32
        var isObject: Bool
        var isEmpty = true
        /// Of an object: the first of its keys in `keys`.
        var firstKey: Int
    }

    /// A container as those know it who fill it.
    struct Place {
        fileprivate var level: Int
        fileprivate var serial: UInt32
    }

    /// How deep objects and lists may be nested in a value. The daemon's limit is 64 for a whole event.
    static let maximumDepth = 56

    var text = JSONText()
    /// What an event's outermost value is; nil for a value as any other.
    private(set) var root: EventRoot?
    /// Values that became null.
    private(set) var replaced = 0
    /// Where the properties begin in the text, if an event was written.
    var propertiesStart: Int?
    /// Bytes above which encoding stops.
    var maximumSize = Int.max

    /// From the outermost to the innermost.
    private var open: [Container] = []
    /// Where the keys of all open objects lie in the text, quotes included.
    private var keys: [Range<Int>] = []
    private var serial: UInt32 = 0
    /// What a function that must not throw found; the next one that may throws it.
    private var failure: JSONWriterError?
    private var typeNames: [ObjectIdentifier: String] = [:]

    private let isDetached: Bool
    /// How deep this writer's own text is nested in that of others.
    private var outerDepth = 0
    /// Of a detached writer: what belongs into its text, and where.
    private var children: [(position: Int, writer: JSONWriter)] = []

    init() { isDetached = false }

    private init(inside parent: JSONWriter?, maximumSize: Int) {
        isDetached = true
        self.maximumSize = maximumSize
        outerDepth = parent.map { $0.outerDepth + $0.open.count } ?? 0
    }

    var bytes: [UInt8] { text.bytes }

    /// Forgets the contents, keeps the memory.
    func removeAll() {
        text.bytes.removeAll(keepingCapacity: true)
        replaced = 0
        propertiesStart = nil
        forgetOpen()
    }

    private func forgetOpen() {
        open.removeAll(keepingCapacity: true)
        keys.removeAll(keepingCapacity: true)
        root = nil
        failure = nil
    }

    // MARK: Values

    /// Appends a value.
    /// - Throws: what the value throws, or `JSONWriterError`; then the text is as before.
    func write(_ value: some Encodable) throws { try write(value, root: nil) }

    /// Appends an event's name and properties: `"event":"…","properties":{…}`.
    func write<Event: AnalyticsEvent>(event: Event) throws {
        try write(event, root: EventRoot(givenName: event.eventName, policy: Event.namePolicy, type: Event.self))
    }

    private func write(_ value: some Encodable, root: EventRoot?) throws {
        let start = text.bytes.count
        do {
            try writeOutermost(value, root: root)
            if root != nil { endProperties(at: self.root?.properties ?? start) }
            forgetOpen()
        } catch {
            text.bytes.removeSubrange(start...)
            forgetOpen()
            guard case JSONWriterError.containerWasLeft = error, !isDetached else { throw error }
            let detached = JSONWriter(inside: nil, maximumSize: maximumSize)
            try detached.writeOutermost(value, root: root)
            detached.assemble(into: &text.bytes)
            if root != nil { endProperties(at: start + (detached.root?.properties ?? 0)) }
            replaced += detached.replaced
        }
    }

    /// Notes where the properties are; where they are one value without a label, that value's.
    private func endProperties(at start: Int) {
        propertiesStart = start
        guard text.bytes[start...].starts(with: Self.onlyValue) else { return }
        var reader = JSONReader(text.bytes, at: start + Self.onlyValue.count - 1)
        guard reader.skipValue(), reader.position == text.bytes.count - 1 else { return }
        reader = JSONReader([])
        text.bytes.removeLast()
        text.bytes.removeSubrange(start..<start + Self.onlyValue.count - 1)
    }

    private static let onlyValue = Array("{\"_0\":{".utf8)

    private func writeOutermost(_ value: some Encodable, root: EventRoot?) throws {
        self.root = root
        try put(value)
        try endRoot()
        if let failure { throw failure }
    }

    /// Writes a value where one is due.
    func put<Value: Encodable>(_ value: Value) throws {
        if let scalar = value as? any JSONScalar, try putAtRoot(scalar) { return }
        guard !isDetached || isAtRoot else {
            return try value.encode(to: ValueEncoder(child()))
        }
        let start = text.bytes.count
        let depth = open.count
        try value.encode(to: ValueEncoder(self))
        if let failure { throw failure }
        close(to: depth)
        if text.bytes.count == start, root == nil || depth > 0 { text.append("{}") }
    }

    private func putScalar(_ scalar: some JSONScalar) {
        if !scalar.write(to: &text, depth: Self.maximumDepth - open.count - outerDepth) { replaced += 1 }
    }

    func putNull() throws {
        if isAtRoot { throw JSONWriterError.noProperties }
        text.append("null")
    }

    /// How much has been written: it grows with every value.
    var extent: Int { text.bytes.count + children.count }
    /// How many containers are open.
    var depth: Int { open.count }

    // MARK: Containers

    /// Opens a container where a value is due; one that this value has opened before goes on.
    /// - Parameter extent: when the value became due.
    func begin(isObject: Bool, depth: Int, extent: Int) -> Place {
        if depth < open.count, open[depth].isObject == isObject { return Place(level: depth, serial: open[depth].serial) }
        if depth != open.count || extent != self.extent { fail(.twoValues) }
        if open.count + outerDepth >= Self.maximumDepth { fail(.tooDeep) }
        serial &+= 1
        open.append(Container(serial: serial, isObject: isObject, firstKey: keys.count))
        // An event's outermost container is written when it is known what it is.
        if !(depth == 0 && root != nil) { isObject ? text.append(byte: "{") : text.append(byte: "[") }
        return Place(level: depth, serial: serial)
    }

    /// Makes a container that is inside another one, after `enter`.
    func beginNested(isObject: Bool) -> (JSONWriter, Place) {
        let writer = isDetached ? child() : self
        return (writer, writer.begin(isObject: isObject, depth: writer.depth, extent: writer.extent))
    }

    /// An encoder whose value may be written at any later time.
    func deferred() -> ValueEncoder {
        // Only a detached writer can leave a gap.
        if !isDetached { fail(.containerWasLeft) }
        return ValueEncoder(child())
    }

    private func child() -> JSONWriter {
        let child = JSONWriter(inside: self, maximumSize: maximumSize)
        children.append((text.bytes.count, child))
        return child
    }

    /// Goes on with a container: closes those inside it, and writes the comma and the key.
    /// - Parameters:
    ///   - key: of an object.
    ///   - isNested: whether a nested container begins, and not a value.
    func enter(_ place: Place, key: String? = nil, isNested: Bool = false) throws(JSONWriterError) {
        if let failure { throw failure }
        guard place.level < open.count, open[place.level].serial == place.serial else { throw JSONWriterError.containerWasLeft }
        close(to: place.level + 1)
        if text.bytes.count > maximumSize { throw JSONWriterError.tooLarge }
        if place.level == 0, root != nil, try enterRoot(key, isNested: isNested) { return }
        if !open[place.level].isEmpty { text.append(byte: ",") }
        open[place.level].isEmpty = false
        if let key { try append(key: key, firstOfObject: open[place.level].firstKey) }
    }

    /// Remembers what the next function that may throw is to throw.
    func fail(_ error: JSONWriterError) {
        if failure == nil { failure = error }
    }

    private func append(key: String, firstOfObject first: Int) throws(JSONWriterError) {
        let start = text.bytes.count
        text.append(string: key)
        let range = start..<text.bytes.count
        for index in first..<keys.count where keys[index].count == range.count {
            if text.bytes[keys[index]] == text.bytes[range] { throw JSONWriterError.keyTwice(key) }
        }
        keys.append(range)
        text.append(byte: ":")
    }

    private func close(to depth: Int) {
        while open.count > depth {
            let container = open.removeLast()
            keys.removeSubrange(container.firstKey...)
            // Of an event that is a case, its outermost container is not written.
            if open.isEmpty, let root, root.form != .members { continue }
            container.isObject ? text.append(byte: "}") : text.append(byte: "]")
        }
    }

    /// Closes everything, and puts the children where they belong.
    private func assemble(into output: inout [UInt8]) {
        close(to: 0)
        var position = 0
        for child in children {
            output.append(contentsOf: text.bytes[position..<child.position])
            child.writer.assemble(into: &output)
            replaced += child.writer.replaced
            position = child.position
        }
        output.append(contentsOf: text.bytes[position...])
        if text.bytes.isEmpty && children.isEmpty { output.append(contentsOf: "{}".utf8) }
    }
}

// MARK: - An event's outermost value

extension JSONWriter {
    private var isAtRoot: Bool { root?.form == .unknown && open.isEmpty }

    /// Writes a scalar; as an event it is a name.
    /// - Returns: false if nothing was written.
    private func putAtRoot(_ scalar: any JSONScalar) throws(JSONWriterError) -> Bool {
        guard isAtRoot, let root else {
            putScalar(scalar)
            return true
        }
        if case let value as PropertyValue = scalar, case .object = value { return false }
        guard let name = root.givenName ?? (scalar as? String).map(root.policy.apply) else { throw JSONWriterError.nameless }
        try begin(event: name, policy: .verbatim, form: .nameOnly)
        text.append("{}")
        return true
    }

    /// Finds out what an event is when it writes its first key.
    /// - Returns: whether the key was its name.
    private func enterRoot(_ key: String?, isNested: Bool) throws(JSONWriterError) -> Bool {
        guard let form = root?.form, let root else { return false }
        switch form {
        case .members: return false
        case .nameOnly: throw JSONWriterError.twoNames
        case .unknown: break
        }
        guard let key else { throw JSONWriterError.noProperties }
        if isNested {
            try begin(event: root.givenName ?? key, policy: root.givenName == nil ? root.policy : .verbatim, form: .nameOnly)
            return true
        }
        try beginMembers(root)
        return false
    }

    private func beginMembers(_ root: EventRoot) throws(JSONWriterError) {
        try begin(event: root.givenName ?? typeName(root), policy: root.givenName == nil ? root.policy : .verbatim, form: .members)
        text.append(byte: "{")
    }

    private func begin(event name: String, policy: EventNamePolicy, form: EventRoot.Form) throws(JSONWriterError) {
        if name.isEmpty { throw JSONWriterError.nameless }
        root?.form = form
        text.append("\"event\":\"")
        let start = text.bytes.count
        policy.append(name, to: &text.bytes)
        text.escape(from: start)
        text.append("\",\"properties\":")
        root?.properties = text.bytes.count
    }

    private func typeName(_ root: EventRoot) -> String {
        let id = ObjectIdentifier(root.type)
        if let name = typeNames[id] { return name }
        let name = String(describing: root.type)
        typeNames[id] = name
        return name
    }

    /// Ends an event that has written its last.
    private func endRoot() throws(JSONWriterError) {
        guard let root else { return }
        if root.form == .unknown {
            try beginMembers(root)
            text.append(byte: "}")
        }
    }
}
