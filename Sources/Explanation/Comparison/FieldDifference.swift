import Events
import Routing

/// A field that differs between two outputs.
struct DifferingField: Hashable {
    enum Change: UInt8 { case added, removed, changed }

    /// The names on the way to the field, as in the JSON, with dots between them. `*` stands for each item of a list.
    /// At most `maximumPath` bytes.
    var path: [UInt8]
    var change: Change

    static let maximumPath = 200
}

/// Finds the fields in which two JSON texts differ, without building trees: for every event that changes. As in
/// `JSONDifference`, numbers are compared by value, strings without regard to their escapes, and the order of an
/// object's members does not count. One thread; memory is reused.
struct FieldDifference {
    /// More differing fields of one event are not found.
    static let maximumFields = 200
    /// Deeper values are compared byte by byte.
    private static let maximumDepth = 32
    /// Objects with more members are compared byte by byte if their members are not in the same order: comparing takes
    /// the square of this time.
    private static let maximumMembers = 500

    private(set) var fields: [DifferingField] = []
    private var path: [UInt8] = []

    /// Replaces `fields` with the differences between two JSON texts.
    mutating func compare(_ old: Span<UInt8>, _ new: Span<UInt8>) {
        fields.removeAll(keepingCapacity: true)
        path.removeAll(keepingCapacity: true)
        compare(Self.whole(old), old, Self.whole(new), new, depth: 0)
    }

    private static func whole(_ json: Span<UInt8>) -> FieldValue {
        // The cursor wants a list's brackets around its item, and never reads them.
        var cursor = ListCursor(-1..<json.count + 1)
        return cursor.next(in: json) ?? .missing
    }

    private mutating func compare(
        _ a: FieldValue, _ old: Span<UInt8>, _ b: FieldValue, _ new: Span<UInt8>, depth: Int
    ) {
        guard fields.count < Self.maximumFields, let left = a.json, let right = b.json else { return }
        if old.extracting(left).hasBytes(of: new.extracting(right)) { return }
        if a.type == .object, b.type == .object, depth < Self.maximumDepth {
            compareObjects(left, old, right, new, depth)
        } else if a.type == .array, b.type == .array, depth < Self.maximumDepth {
            compareLists(left, old, right, new, depth)
        } else if !Self.areEqual(a, old, b, new) {
            add(.changed)
        }
    }

    private static func areEqual(_ a: FieldValue, _ old: Span<UInt8>, _ b: FieldValue, _ new: Span<UInt8>) -> Bool {
        if a.type == .number, b.type == .number {
            let (a, b) = (old.extracting(a.slice.range), new.extracting(b.slice.range))
            guard let a = JSONNumber(a), let b = JSONNumber(b) else { return false }
            return a == b
        }
        guard a.isString, b.isString, a.type != b.type || a.type == .escapedString else { return false }
        var (left, right): ([UInt8], [UInt8]) = ([], [])
        return JSONText.unescape(old.extracting(a.slice.range), into: &left)
            && JSONText.unescape(new.extracting(b.slice.range), into: &right) && left == right
    }

    private mutating func compareLists(
        _ left: Range<Int>, _ old: Span<UInt8>, _ right: Range<Int>, _ new: Span<UInt8>, _ depth: Int
    ) {
        var (before, after) = (ListCursor(left), ListCursor(right))
        enter("*".utf8.span) { difference in
            while true {
                switch (before.next(in: old), after.next(in: new)) {
                case (nil, nil): return
                case (let a?, let b?): difference.compare(a, old, b, new, depth: depth + 1)
                case (_?, nil): return difference.add(.removed)
                case (nil, _?): return difference.add(.added)
                }
            }
        }
    }

    private mutating func compareObjects(
        _ left: Range<Int>, _ old: Span<UInt8>, _ right: Range<Int>, _ new: Span<UInt8>, _ depth: Int
    ) {
        var (before, after) = (ObjectCursor(left), ObjectCursor(right))
        // Most outputs have the same members in the same order, up to the first difference.
        var rest: (old: [ObjectCursor.Member], new: [ObjectCursor.Member]) = ([], [])
        while true {
            let (a, b) = (before.next(in: old), after.next(in: new))
            if let a, let b, old.extracting(a.key.range).hasBytes(of: new.extracting(b.key.range)) {
                enter(old.extracting(a.key.range)) { $0.compare(a.value, old, b.value, new, depth: depth + 1) }
                continue
            }
            if let a { rest.old.append(a) }
            if let b { rest.new.append(b) }
            break
        }
        while let member = before.next(in: old) { rest.old.append(member) }
        while let member = after.next(in: new) { rest.new.append(member) }
        compareMembers(rest.old, old, rest.new, new, depth)
    }

    /// Pairs members by name. Members that share a name are paired in order.
    private mutating func compareMembers(
        _ before: [ObjectCursor.Member], _ old: Span<UInt8>, _ after: [ObjectCursor.Member], _ new: Span<UInt8>,
        _ depth: Int
    ) {
        guard before.count <= Self.maximumMembers, after.count <= Self.maximumMembers else { return add(.changed) }
        var isTaken = [Bool](repeating: false, count: after.count)
        // The search begins behind the last member that was found.
        var next = 0
        for a in before {
            var found: Int?
            for step in 0..<after.count {
                let place = (next + step) % after.count
                if !isTaken[place], Self.haveSameName(a, old, after[place], new) {
                    found = place
                    break
                }
            }
            guard let found else {
                enter(old.extracting(a.key.range)) { $0.add(.removed) }
                continue
            }
            isTaken[found] = true
            next = found + 1
            enter(old.extracting(a.key.range)) {
                $0.compare(a.value, old, after[found].value, new, depth: depth + 1)
            }
        }
        for (place, b) in after.enumerated() where !isTaken[place] {
            enter(new.extracting(b.key.range)) { $0.add(.added) }
        }
    }

    private static func haveSameName(
        _ a: ObjectCursor.Member, _ old: Span<UInt8>, _ b: ObjectCursor.Member, _ new: Span<UInt8>
    ) -> Bool {
        if old.extracting(a.key.range).hasBytes(of: new.extracting(b.key.range)) { return true }
        guard a.isKeyEscaped || b.isKeyEscaped else { return false }
        return a.name(in: old) == b.name(in: new)
    }

    private mutating func enter(_ name: Span<UInt8>, _ body: (inout FieldDifference) -> Void) {
        let length = path.count
        if length > 0 { path.append(UInt8(ascii: ".")) }
        path.append(contentsOf: name)
        body(&self)
        path.removeLast(path.count - length)
    }

    private mutating func add(_ change: DifferingField.Change) {
        guard fields.count < Self.maximumFields else { return }
        let field = DifferingField(path: Array(path.prefix(DifferingField.maximumPath)), change: change)
        // A list with many items that differ in the same way is one difference.
        if !fields.contains(field) { fields.append(field) }
    }
}
