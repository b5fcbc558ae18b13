import Events

/// An object that a batch shares with its items: `context` or `integrations`. An item's own key wins over a shared one;
/// keys further inside are not merged.
///
/// Belongs to one request. The time to merge an item is in proportion to the item and to what it receives.
struct SharedObject {
    private struct Member {
        /// Decoded.
        var key: [UInt8]
        /// The member as the batch has it, from the key's quote to the end of the value.
        var json: Range<Int>
        /// The last item that has this key itself.
        var owner = -1
    }

    /// Sorted by key, each key once.
    private var members: [Member] = []
    /// The indices of the members in the order in which the batch has them.
    private var order: [Int] = []
    private var decoded: [UInt8] = []

    /// - Parameters:
    ///   - range: the object in `body`, which is valid JSON.
    ///   - reader: memory for the members.
    init(_ range: Range<Int>, of body: Span<UInt8>, _ reader: ObjectMembers) {
        let object = body.extracting(range)
        guard reader.read(object) else { return }
        for member in 0..<reader.count {
            Self.decode(object.extracting(reader.key(member)), into: &decoded)
            guard let value = reader.value(member).json else { continue }
            let start = reader.key(member).lowerBound - 1
            let json = range.lowerBound + start..<range.lowerBound + value.upperBound
            members.append(Member(key: decoded, json: json))
        }
        // The last of several duplicate keys counts, and it begins last.
        members.sort { a, b in
            a.key.lexicographicallyPrecedes(b.key) || a.key == b.key && a.json.lowerBound < b.json.lowerBound
        }
        var last = 0
        for member in members.indices.dropFirst() {
            if members[member].key != members[last].key { last += 1 }
            members[last] = members[member]
        }
        members.removeSubrange(members.indices.dropFirst(last + 1))
        order = members.indices.sorted { members[$0].json.lowerBound < members[$1].json.lowerBound }
    }

    /// Appends the shared members that an item's object lacks, as they must stand before its closing brace.
    /// - Parameters:
    ///   - object: the item's object.
    ///   - item: the item's number. Each item has a number of its own.
    /// - Returns: false if the item's object is not valid JSON.
    mutating func appendMembers(
        missingIn object: Span<UInt8>, ofItem item: Int, from body: Span<UInt8>, to output: inout [UInt8],
        _ reader: ObjectMembers
    ) -> Bool {
        guard reader.read(object) else { return false }
        for member in 0..<reader.count {
            let contents = object.extracting(reader.key(member))
            if contents.firstIndex(of: UInt8(ascii: "\\"), in: contents.indices) == nil {
                markOwner(of: contents, item)
            } else {
                Self.decode(contents, into: &decoded)
                let key = decoded
                markOwner(of: key.span, item)
            }
        }
        var needsComma = reader.count > 0
        for member in order where members[member].owner != item {
            if needsComma { output.append(UInt8(ascii: ",")) }
            needsComma = true
            output.append(contentsOf: body.extracting(members[member].json))
        }
        return true
    }

    private mutating func markOwner(of key: Span<UInt8>, _ item: Int) {
        var (low, high) = (0, members.count)
        while low < high {
            let middle = low + (high - low) / 2
            if Self.precedes(members[middle].key, key) { low = middle + 1 } else { high = middle }
        }
        if low < members.count, Self.isEqual(members[low].key, key) { members[low].owner = item }
    }

    /// The order of `lexicographicallyPrecedes`.
    private static func precedes(_ a: [UInt8], _ b: Span<UInt8>) -> Bool {
        for position in 0..<min(a.count, b.count) where a[position] != b[position] {
            return a[position] < b[position]
        }
        return a.count < b.count
    }

    private static func isEqual(_ a: [UInt8], _ b: Span<UInt8>) -> Bool { a.span.hasBytes(of: b) }

    /// A key with half of a surrogate pair has no decoded form. It is compared as written, and so equals no other.
    private static func decode(_ contents: Span<UInt8>, into decoded: inout [UInt8]) {
        decoded.removeAll(keepingCapacity: true)
        if !JSONText.unescape(contents, into: &decoded) { decoded.append(contentsOf: contents) }
    }
}
