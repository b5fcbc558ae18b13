import Events

/// The members of an object under construction. Names are unique and keep the order of their first appearance. The time
/// is linear in the number of members, even for names that an attacker chooses.
struct MemberList {
    private struct Member {
        /// Range in `bytes` of a comma, the quoted name, a colon and the value.
        var text: Range<Int>
        /// Range in `bytes` of the name: contents of a JSON string with the fewest escapes, so that equal names have
        /// equal bytes.
        var name: Range<Int>
        /// Length and three bytes of the name, a cheap check that tells most names apart.
        var mark: UInt32
        var owner: Int
    }

    /// A member name that is known when the mapping is compiled.
    struct Name: Sendable {
        /// A comma, the name as a JSON string, and a colon.
        let text: [UInt8]

        init(_ name: String) {
            var text = [UInt8(ascii: ",")]
            JSONText.appendString(name, to: &text)
            text.append(UInt8(ascii: ":"))
            self.text = text
        }

        /// Range of the name, without comma, quotes and colon.
        fileprivate var contents: Range<Int> { 2..<text.count - 2 }
    }

    private(set) var bytes: [UInt8] = []
    private var members: [Member] = []
    /// Whether `bytes` holds exactly the members, in order and without gaps.
    private var isInOrder = true
    /// From this number of members on, names are looked up in `table`.
    private static let few = 32
    private var table: [Int: [Int]] = [:]
    private var name: [UInt8] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        members.removeAll(keepingCapacity: true)
        isInOrder = true
        if !table.isEmpty { table = [:] }
    }

    /// Adds the members of an object. A name that exists already is replaced only if the same owner added it or
    /// `replaces` is true.
    mutating func add(_ object: Range<Int>, of json: Span<UInt8>, owner: Int, replaces: Bool) {
        if members.isEmpty, json.firstIndex(of: UInt8(ascii: "\\"), in: object) == nil {
            return addWhole(object, of: json, owner: owner)
        }
        var cursor = ObjectCursor(object)
        while let member = cursor.next(in: json) {
            guard let value = member.value.json else { continue }
            if member.isKeyEscaped {
                var canonical: [UInt8] = []
                swap(&canonical, &name)
                canonical.removeAll(keepingCapacity: true)
                Self.appendName(of: member, in: json, to: &canonical)
                add(canonical.span, json.extracting(value), owner: owner, replaces: replaces)
                swap(&canonical, &name)
            } else {
                add(json.extracting(member.key.range), json.extracting(value), owner: owner, replaces: replaces)
            }
        }
    }

    /// Adds the first object by copying its text in one piece, including white space. Its names must have no escapes.
    private mutating func addWhole(_ object: Range<Int>, of json: Span<UInt8>, owner: Int) {
        let inside = object.lowerBound + 1..<max(object.lowerBound + 1, object.upperBound - 1)
        bytes.append(UInt8(ascii: ","))
        let moved = bytes.count - inside.lowerBound
        bytes.append(contentsOf: json.extracting(inside))
        var end = 0
        var cursor = ObjectCursor(object)
        while let member = cursor.next(in: json) {
            guard let value = member.value.json else { continue }
            let start = end
            end = value.upperBound + moved
            let key = member.key.range
            let name = key.lowerBound + moved..<key.upperBound + moved
            let mark = Self.mark(json.extracting(key))
            let known = find(json.extracting(key), mark)
            note(Member(text: start..<end, name: name, mark: mark, owner: owner), known)
        }
        bytes.removeLast(bytes.count - end)
    }

    /// Appends a member's name as contents of a JSON string with the fewest escapes.
    static func appendName(of member: ObjectCursor.Member, in json: Span<UInt8>, to output: inout [UInt8]) {
        let contents = json.extracting(member.key.range)
        guard member.isKeyEscaped, let text = JSONText.string(contents) else {
            return output.append(contentsOf: contents)
        }
        JSONText.appendContents(text.utf8.span, to: &output)
    }

    /// - Parameters:
    ///   - name: in the form that `appendName` writes.
    ///   - value: JSON.
    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>, owner: Int = 0, replaces: Bool = true) {
        let mark = Self.mark(name)
        let known = find(name, mark)
        if let known, !replaces, members[known].owner != owner { return }
        let start = bytes.count
        bytes.append(addingCapacity: name.count + value.count + 4) { bytes in
            bytes.append(UInt8(ascii: ","))
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: name)
            bytes.append(UInt8(ascii: "\""))
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: value)
        }
        let nameRange = start + 2..<start + 2 + name.count
        note(Member(text: start..<bytes.count, name: nameRange, mark: mark, owner: owner), known)
    }

    /// Adds a member if `write` appends a value and returns true. `write` must append nothing if it returns false.
    mutating func add(_ name: Name, owner: Int, replaces: Bool, write: (inout [UInt8]) -> Bool) {
        let contents = name.text.span.extracting(name.contents)
        let mark = Self.mark(contents)
        let known = find(contents, mark)
        if let known, !replaces, members[known].owner != owner { return }
        let start = bytes.count
        bytes.append(contentsOf: name.text.span)
        guard write(&bytes) else { return bytes.removeLast(bytes.count - start) }
        let nameRange = name.contents.lowerBound + start..<name.contents.upperBound + start
        note(Member(text: start..<bytes.count, name: nameRange, mark: mark, owner: owner), known)
    }

    /// - Parameter known: index of the member to replace.
    private mutating func note(_ member: Member, _ known: Int?) {
        if let known {
            members[known] = member
            isInOrder = false
            return
        }
        members.append(member)
        if members.count == Self.few {
            for (i, member) in members.enumerated() {
                table[Self.hash(bytes.span.extracting(member.name)), default: []].append(i)
            }
        } else if members.count > Self.few {
            table[Self.hash(bytes.span.extracting(member.name)), default: []].append(members.count - 1)
        }
    }

    func write(to output: inout [UInt8]) {
        let start = output.count
        if isInOrder {
            output.append(contentsOf: bytes.span)
        } else {
            for member in members { output.append(contentsOf: bytes.span.extracting(member.text)) }
        }
        // Replace the first comma. An empty object has none, so add a byte to replace.
        if output.count == start { output.append(0) }
        output[start] = UInt8(ascii: "{")
        output.append(UInt8(ascii: "}"))
    }

    private func find(_ name: Span<UInt8>, _ mark: UInt32) -> Int? {
        guard members.count < Self.few else {
            guard let candidates = table[Self.hash(name)] else { return nil }
            for i in candidates where bytes.span.extracting(members[i].name).hasBytes(of: name) { return i }
            return nil
        }
        for i in members.indices where members[i].mark == mark {
            if bytes.span.extracting(members[i].name).hasBytes(of: name) { return i }
        }
        return nil
    }

    private static func mark(_ name: Span<UInt8>) -> UInt32 {
        guard name.count > 0 else { return 0 }
        return UInt32(truncatingIfNeeded: name.count) << 24 | UInt32(name[0]) << 16 | UInt32(name[name.count / 2]) << 8
            | UInt32(name[name.count - 1])
    }

    /// Hashes with a seed that is new in each process, so that nobody can choose names that collide.
    private static func hash(_ name: Span<UInt8>) -> Int {
        var hasher = Hasher()
        for i in name.indices { hasher.combine(name[i]) }
        return hasher.finalize()
    }
}
