/// The JSON text of a value in progress, with the stack of open containers and the rules for what may be written next.
///
/// It is a struct, so that each step needs only one access to the writer that owns it.
struct JSONBuilder {
    /// An open container.
    private struct Container {
        var serial: UInt32
        var isObject: Bool
        var isEmpty = true
        /// For an object: the index of its first key in `keys`.
        var firstKey: Int
    }

    /// A handle to an open container, for the code that fills it.
    struct Place {
        fileprivate var level: Int32
        fileprivate var serial: UInt32
    }

    /// A position at which a value is expected.
    struct Opening {
        fileprivate var depth: Int32
        /// The value of `extent` at that time.
        fileprivate var extent: Int32
    }

    /// The maximum nesting depth of objects and arrays in a value. The daemon's limit is 64 for a whole event.
    static let maximumDepth = 56

    var text = JSONText()
    /// The state of the event that is being encoded; nil for any other value.
    var root: EventRoot?
    /// The number of values that were written as null because JSON cannot represent them.
    var replaced = 0
    /// The number of bytes above which encoding stops.
    var maximumSize = Int.max
    /// An error found by a method that cannot throw. The next method that can throws it.
    var failure: JSONWriterError?
    /// Whether every nested container has its own writer.
    var isDetached = false
    /// The nesting depth of this text in the text of other writers.
    var outerDepth = 0
    /// For a detached writer: the writers whose text is inserted into this one's, and where.
    var children: [(position: Int, writer: JSONWriter)] = []

    /// The open containers, from the outermost to the innermost.
    private var open: [Container] = []
    /// The ranges in the text of the keys of all open objects, including quotes.
    private var keys: [Range<Int>] = []
    private var serial: UInt32 = 0
    private var typeNames: [ObjectIdentifier: String] = [:]
    private var names = SpelledNames()

    var depth: Int { open.count }

    /// The position of the next value.
    var opening: Opening { Opening(depth: Int32(truncatingIfNeeded: open.count), extent: extent) }

    /// A number that grows with every value.
    private var extent: Int32 { Int32(truncatingIfNeeded: text.bytes.count &+ children.count) }

    /// Removes the contents and keeps the memory.
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

    /// Throws if a value has already been written at this position.
    func check(_ opening: Opening) throws(JSONWriterError) {
        if let failure { throw failure }
        if opening.depth != open.count || opening.extent != extent { throw .twoValues }
    }

    /// Writes a scalar. At the root of an event it is the event's name.
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

    /// Whether the next value is the outermost one of an event.
    var isAtRoot: Bool { open.isEmpty && root?.form == .unknown }

    /// Ends a value that encoded itself, and closes the containers that it opened. A value that wrote nothing becomes
    /// an empty object.
    mutating func end(_ opening: Opening) throws(JSONWriterError) {
        if let failure { throw failure }
        close(to: Int(opening.depth))
        if opening.extent == extent, root == nil || opening.depth > 0 { text.append("{}") }
    }

    // MARK: Containers

    /// Opens a container at this position, or continues the container that the same value has already opened there.
    mutating func begin(isObject: Bool, at opening: Opening) -> Place {
        let depth = Int(opening.depth)
        if depth < open.count, open[depth].isObject == isObject {
            return Place(level: opening.depth, serial: open[depth].serial)
        }
        if depth != open.count || opening.extent != extent { fail(.twoValues) }
        if open.count + outerDepth >= Self.maximumDepth { fail(.tooDeep) }
        serial &+= 1
        open.append(Container(serial: serial, isObject: isObject, firstKey: keys.count))
        // The outermost container of an event is written later, when its form is known.
        if !(depth == 0 && root != nil) { isObject ? text.append(byte: "{") : text.append(byte: "[") }
        return Place(level: opening.depth, serial: serial)
    }

    /// Continues an open container: closes the containers inside it, and writes the comma and the key. An error is kept
    /// and thrown again later, in case the caller ignores it.
    /// - Parameters:
    ///   - key: The member's key, for an object.
    ///   - isNested: Whether a nested container follows, rather than a value.
    mutating func enter(_ place: Place, key: String? = nil, isNested: Bool = false) throws(JSONWriterError) {
        if let failure { throw failure }
        do {
            try openValue(place, key: key, isNested: isNested)
        } catch {
            fail(error)
            throw error
        }
    }

    private mutating func openValue(_ place: Place, key: String?, isNested: Bool) throws(JSONWriterError) {
        let level = Int(place.level)
        guard level < open.count, open[level].serial == place.serial else { throw .containerWasLeft }
        close(to: level + 1)
        if text.bytes.count > maximumSize { throw .tooLarge }
        if level == 0, root != nil, try enterRoot(key, isNested: isNested) { return }
        if !open[level].isEmpty { text.append(byte: ",") }
        open[level].isEmpty = false
        if let key { try append(key: key, firstOfObject: open[level].firstKey) }
    }

    /// Keeps an error for the next method that can throw.
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
            // If the event is an enum's case, its outermost container is not written.
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

    /// Determines the form of an event when its first key is written.
    /// - Returns: Whether the key is the event's name.
    private mutating func enterRoot(_ key: String?, isNested: Bool) throws(JSONWriterError) -> Bool {
        switch root?.form {
        case .members: return false
        case .nameOnly: throw .twoNames
        case .unknown, nil: break
        }
        guard let root, let key else { throw .noProperties }
        if isNested {
            try begin(
                event: root.givenName ?? key, policy: root.givenName == nil ? root.policy : .verbatim, form: .nameOnly)
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

    private mutating func begin(event name: String, policy: EventNamePolicy, form: EventRoot.Form)
        throws(JSONWriterError)
    {
        if name.isEmpty { throw .nameless }
        root?.form = form
        text.append("\"event\":\"")
        names.append(name, policy, to: &text)
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

    /// Ends an event. An event that wrote nothing gets empty properties.
    mutating func endRoot() throws(JSONWriterError) {
        if let failure { throw failure }
        guard let root, root.form == .unknown else { return }
        try beginMembers(root)
        text.append(byte: "}")
    }

    /// If the properties of a case, which begin at `start`, are a single unlabelled object, replaces them by the
    /// members of that object.
    mutating func unwrapOnlyValue(at start: Int) {
        guard hasUnlabelledValue(at: start), text.bytes[start...].starts(with: Self.onlyValue), isOnlyValue(at: start)
        else { return }
        text.bytes.removeLast()
        text.bytes.removeSubrange(start..<start + Self.onlyValue.count - 1)
    }

    private func isOnlyValue(at start: Int) -> Bool {
        var reader = JSONReader(text.bytes, at: start + Self.onlyValue.count - 1)
        return reader.skipValue() && reader.position == text.bytes.count - 1
    }

    private static let onlyValue = Array("{\"_0\":{".utf8)

    /// Whether the properties of a case begin with a value that has no label.
    func hasUnlabelledValue(at start: Int) -> Bool {
        let properties = text.bytes.span.extracting(droppingFirst: start)
        // Most properties differ in the third byte.
        return properties.count > 6 && properties[2] == UInt8(ascii: "_") && properties[1] == UInt8(ascii: "\"")
            && properties[3] == UInt8(ascii: "0") && properties[4] == UInt8(ascii: "\"")
    }

    /// Spells the names of an object's members by a policy. The object ends the text.
    mutating func spellKeys(ofObjectAt start: Int, _ policy: EventNamePolicy) throws(JSONWriterError) {
        var names: [(range: Range<Int>, name: String)] = []
        do {
            var reader = JSONReader(text.bytes, at: start)
            guard reader.take("{") else { return }
            while let member = reader.member() {
                var key = JSONReader(text.bytes, at: member.key.lowerBound)
                names.append((member.key, policy.spelling(of: key.value()?.string ?? "")))
                guard reader.take(",") else { break }
            }
        }
        for (index, (_, name)) in names.enumerated() where names[..<index].contains(where: { $0.name == name }) {
            throw .keyTwice(name)
        }
        // From the last to the first, so that the positions of the others stay valid.
        for (range, name) in names.reversed() {
            var key = JSONText()
            key.append(string: name)
            text.bytes.replaceSubrange(range, with: key.bytes)
        }
    }
}
