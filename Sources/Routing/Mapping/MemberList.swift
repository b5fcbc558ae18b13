import Events

/// The members of an object in the making: names are unique, and have the order of their first
/// appearance. Time grows with their number and no faster, whatever the names are.
struct MemberList {
    private struct Member {
        /// Contents of a JSON string with no more escapes than it needs, so that equal names have equal
        /// bytes. In `bytes`.
        var name: Range<Int>
        /// In `bytes`.
        var value: Range<Int>
        /// Length and three bytes of the name: what mostly tells two names apart.
        var mark: UInt32
        var owner: Int
    }

    private(set) var bytes: [UInt8] = []
    private var members: [Member] = []
    /// From here on, names are looked up in `table`.
    private static let few = 32
    private var table: [Int: [Int]] = [:]
    private var name: [UInt8] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        members.removeAll(keepingCapacity: true)
        table.removeAll(keepingCapacity: true)
    }

    /// Adds the members of an object; of a name that is known, only if this owner gave it or `replaces`.
    mutating func add(_ object: Range<Int>, of json: Span<UInt8>, owner: Int, replaces: Bool) {
        var cursor = ObjectCursor(object)
        while let member = cursor.next(in: json) {
            name.removeAll(keepingCapacity: true)
            Self.appendName(of: member, in: json, to: &name)
            guard let value = member.value.json else { continue }
            add(name, json.extracting(value), owner: owner, replaces: replaces)
        }
    }

    /// Appends a member's name as contents of a JSON string with no more escapes than it needs.
    static func appendName(of member: ObjectCursor.Member, in json: Span<UInt8>, to output: inout [UInt8]) {
        let contents = json.extracting(member.key.range)
        guard member.isKeyEscaped, let text = JSONText.string(contents) else {
            return output.append(contentsOf: contents)
        }
        JSONText.appendContents(text.utf8.span, to: &output)
    }

    /// - Parameters:
    ///   - name: as `appendName` makes it.
    ///   - value: JSON.
    mutating func add(_ name: [UInt8], _ value: Span<UInt8>, owner: Int = 0, replaces: Bool = true) {
        let mark = Self.mark(name)
        if let known = find(name, mark) {
            guard replaces || members[known].owner == owner else { return }
            members[known].value = append(value)
            members[known].owner = owner
            return
        }
        let start = bytes.count
        bytes.append(contentsOf: name.span)
        let nameRange = start..<bytes.count
        members.append(Member(name: nameRange, value: append(value), mark: mark, owner: owner))
        if members.count == Self.few {
            for (i, member) in members.enumerated() { table[Self.hash(bytes[member.name]), default: []].append(i) }
        } else if members.count > Self.few {
            table[Self.hash(name[...]), default: []].append(members.count - 1)
        }
    }

    func write(to output: inout [UInt8]) {
        output.append(UInt8(ascii: "{"))
        for (i, member) in members.enumerated() {
            if i > 0 { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            output.append(contentsOf: bytes.span.extracting(member.name))
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
            output.append(contentsOf: bytes.span.extracting(member.value))
        }
        output.append(UInt8(ascii: "}"))
    }

    private mutating func append(_ value: Span<UInt8>) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: value)
        return start..<bytes.count
    }

    private func find(_ name: [UInt8], _ mark: UInt32) -> Int? {
        func isSame(_ i: Int) -> Bool {
            members[i].mark == mark && bytes.span.extracting(members[i].name).hasBytes(of: name.span)
        }
        guard members.count >= Self.few else { return members.indices.first(where: isSame) }
        return table[Self.hash(name[...])]?.first(where: isSame)
    }

    private static func mark(_ name: [UInt8]) -> UInt32 {
        guard let first = name.first, let last = name.last else { return 0 }
        return UInt32(truncatingIfNeeded: name.count) << 24 | UInt32(first) << 16 | UInt32(name[name.count / 2]) << 8
            | UInt32(last)
    }

    /// Seeded anew in each process, so that nobody can choose names that collide.
    private static func hash(_ name: ArraySlice<UInt8>) -> Int {
        var hasher = Hasher()
        for byte in name { hasher.combine(byte) }
        return hasher.finalize()
    }
}
