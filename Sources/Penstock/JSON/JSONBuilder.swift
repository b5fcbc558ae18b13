/// The text of a value while it is being written: what is open in it, and what may follow.
///
/// A struct, so that a step is one access to its writer, however much it touches.
struct JSONBuilder {
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
        fileprivate var level: Int32
        fileprivate var serial: UInt32
    }

    /// Where a value is due.
    struct Opening {
        fileprivate var depth: Int32
        /// How much had been written then.
        fileprivate var extent: Int32
    }

    /// How deep objects and lists may be nested in a value. The daemon's limit is 64 for a whole event.
    static let maximumDepth = 56

    var text = JSONText()
    /// What an event's outermost value is; nil for a value as any other.
    var root: EventRoot?
    /// Values that became null.
    var replaced = 0
    /// Bytes above which encoding stops.
    var maximumSize = Int.max
    /// What a function that must not throw found; the next one that may throws it.
    var failure: JSONWriterError?
    /// Whether every container inside has a writer of its own.
    var isDetached = false
    /// How deep this text is nested in that of other writers.
    var outerDepth = 0
    /// Of a detached writer: what belongs into its text, and where.
    var children: [(position: Int, writer: JSONWriter)] = []

    /// From the outermost to the innermost.
    private var open: [Container] = []
    /// Where the keys of all open objects lie in the text, quotes included.
    private var keys: [Range<Int>] = []
    private var serial: UInt32 = 0
    private var typeNames: [ObjectIdentifier: String] = [:]

    var depth: Int { open.count }

    /// Where the next value is due.
    var opening: Opening { Opening(depth: Int32(truncatingIfNeeded: open.count), extent: extent) }

    /// Grows with every value.
    private var extent: Int32 { Int32(truncatingIfNeeded: text.bytes.count &+ children.count) }

    /// Forgets the contents, keeps the memory.
    mutating func removeAll() {
        text.bytes.removeAll(keepingCapacity: true)
        replaced = 0
        forgetOpen()
    }

    mutating func forgetOpen() {
        if !open.isEmpty { open.removeAll(keepingCapacity: true) }
        if !keys.isEmpty { keys.removeAll(keepingCapacity: true) }
        root = nil
        failure = nil
    }

    // MARK: Values

    /// Throws if something has been written where a value was due.
    func check(_ opening: Opening) throws(JSONWriterError) {
        if let failure { throw failure }
        if opening.depth != open.count || opening.extent != extent { throw .twoValues }
    }

    /// Writes a scalar; as an event it is a name.
    mutating func put(_ scalar: some JSONScalar) throws(JSONWriterError) {
        if isAtRoot { return try putName(scalar as? String) }
        if !scalar.write(to: &text, depth: Self.maximumDepth - open.count - outerDepth) { replaced += 1 }
    }

    /// Writes a member of an object.
    mutating func put(_ scalar: some JSONScalar, _ place: Place, _ key: String) throws(JSONWriterError) {
        try enter(place, key: key)
        try put(scalar)
    }

    mutating func putNull() throws(JSONWriterError) {
        if isAtRoot { return try putName(nil) }
        text.append("null")
    }

    /// Whether an event's outermost value is due.
    var isAtRoot: Bool { open.isEmpty && root?.form == .unknown }

    /// Ends a value that encoded itself: closes what it opened. One that wrote nothing is an empty object.
    mutating func end(_ opening: Opening) throws(JSONWriterError) {
        if let failure { throw failure }
        close(to: Int(opening.depth))
        if opening.extent == extent, root == nil || opening.depth > 0 { text.append("{}") }
    }

    // MARK: Containers

    /// Opens a container where a value is due; one that this value has opened before goes on.
    mutating func begin(isObject: Bool, at opening: Opening) -> Place {
        let depth = Int(opening.depth)
        if depth < open.count, open[depth].isObject == isObject { return Place(level: opening.depth, serial: open[depth].serial) }
        if depth != open.count || opening.extent != extent { fail(.twoValues) }
        if open.count + outerDepth >= Self.maximumDepth { fail(.tooDeep) }
        serial &+= 1
        open.append(Container(serial: serial, isObject: isObject, firstKey: keys.count))
        // An event's outermost container is written when it is known what it is.
        if !(depth == 0 && root != nil) { isObject ? text.append(byte: "{") : text.append(byte: "[") }
        return Place(level: opening.depth, serial: serial)
    }

    /// Goes on with a container: closes those inside it, and writes the comma and the key. What it throws is
    /// not forgotten, even if nobody heeds it.
    /// - Parameters:
    ///   - key: of an object.
    ///   - isNested: whether a nested container begins, and not a value.
    mutating func enter(_ place: Place, key: String? = nil, isNested: Bool = false) throws(JSONWriterError) {
        if let failure { throw failure }
        do {
            try goOn(place, key: key, isNested: isNested)
        } catch {
            fail(error)
            throw error
        }
    }

    private mutating func goOn(_ place: Place, key: String?, isNested: Bool) throws(JSONWriterError) {
        let level = Int(place.level)
        guard level < open.count, open[level].serial == place.serial else { throw .containerWasLeft }
        close(to: level + 1)
        if text.bytes.count > maximumSize { throw .tooLarge }
        if level == 0, root != nil, try enterRoot(key, isNested: isNested) { return }
        if !open[level].isEmpty { text.append(byte: ",") }
        open[level].isEmpty = false
        if let key { try append(key: key, firstOfObject: open[level].firstKey) }
    }

    /// Remembers what the next function that may throw is to throw.
    mutating func fail(_ error: JSONWriterError) {
        if failure == nil { failure = error }
    }

    private mutating func append(key: String, firstOfObject first: Int) throws(JSONWriterError) {
        let start = text.bytes.count
        text.append(string: key)
        let range = start..<text.bytes.count
        for index in first..<keys.count where keys[index].count == range.count {
            if text.bytes[keys[index]] == text.bytes[range] { throw .keyTwice(key) }
        }
        keys.append(range)
        text.append(byte: ":")
    }

    mutating func close(to depth: Int) {
        while open.count > depth {
            let container = open.removeLast()
            keys.removeLast(keys.count - container.firstKey)
            // Of an event that is a case, its outermost container is not written.
            if open.isEmpty, let form = root?.form, form != .members { continue }
            container.isObject ? text.append(byte: "}") : text.append(byte: "]")
        }
    }

    // MARK: An event's outermost value

    private mutating func putName(_ name: String?) throws(JSONWriterError) {
        guard let root, let name = root.givenName ?? name.map(root.policy.spelling(of:)) else { throw .noProperties }
        try begin(event: name, policy: .verbatim, form: .nameOnly)
        text.append("{}")
    }

    /// Finds out what an event is when it writes its first key.
    /// - Returns: whether the key was its name.
    private mutating func enterRoot(_ key: String?, isNested: Bool) throws(JSONWriterError) -> Bool {
        switch root?.form {
        case .members: return false
        case .nameOnly: throw .twoNames
        case .unknown, nil: break
        }
        guard let root, let key else { throw .noProperties }
        if isNested {
            try begin(event: root.givenName ?? key, policy: root.givenName == nil ? root.policy : .verbatim, form: .nameOnly)
            return true
        }
        try beginMembers(root)
        return false
    }

    private mutating func beginMembers(_ root: EventRoot) throws(JSONWriterError) {
        let name = root.givenName ?? typeName(root)
        try begin(event: name, policy: root.givenName == nil ? root.policy : .verbatim, form: .members)
        text.append(byte: "{")
    }

    private mutating func begin(event name: String, policy: EventNamePolicy, form: EventRoot.Form) throws(JSONWriterError) {
        if name.isEmpty { throw .nameless }
        root?.form = form
        text.append("\"event\":\"")
        let start = text.bytes.count
        policy.append(name, to: &text.bytes)
        text.escape(from: start)
        text.append("\",\"properties\":")
        root?.properties = text.bytes.count
    }

    private mutating func typeName(_ root: EventRoot) -> String {
        let id = ObjectIdentifier(root.type)
        if let name = typeNames[id] { return name }
        let name = String(describing: root.type)
        typeNames[id] = name
        return name
    }

    /// Ends an event that has written its last.
    mutating func endRoot() throws(JSONWriterError) {
        if let failure { throw failure }
        guard let root, root.form == .unknown else { return }
        try beginMembers(root)
        text.append(byte: "}")
    }

    /// Where the properties of a case, which begin at `start`, are one value without a label, they become that
    /// value's.
    mutating func unwrapOnlyValue(at start: Int) {
        guard text.bytes[start...].starts(with: Self.onlyValue), isOnlyValue(at: start) else { return }
        text.bytes.removeLast()
        text.bytes.removeSubrange(start..<start + Self.onlyValue.count - 1)
    }

    private func isOnlyValue(at start: Int) -> Bool {
        var reader = JSONReader(text.bytes, at: start + Self.onlyValue.count - 1)
        return reader.skipValue() && reader.position == text.bytes.count - 1
    }

    private static let onlyValue = Array("{\"_0\":{".utf8)
}
