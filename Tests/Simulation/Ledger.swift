import Glibc

/// The truth as the outside of a world knows it: the events that were sent, their positions, and the promises
/// made about them. It shares no code with the code under test.
struct Ledger {
    struct Marks: OptionSet {
        let rawValue: UInt8
        /// Readers may see the event, so it is durable and must not disappear.
        static let published = Marks(rawValue: 1)
        static let acknowledged = Marks(rawValue: 2)
        /// The event was acknowledged as written but not durable (`sync:` interval or never), or its file failed
        /// afterwards.
        static let volatile = Marks(rawValue: 4)
        /// The event's batch was damaged at rest.
        static let damaged = Marks(rawValue: 8)
        /// The journal reported the position as missing.
        static let reported = Marks(rawValue: 16)
        /// Retention removed the event.
        static let removed = Marks(rawValue: 32)
        /// The journal reported an interrupted write. The mark stays when the event is forgotten.
        static let interrupted = Marks(rawValue: 64)
    }

    struct Position {
        /// nil: no event that was promised to anyone has this position.
        var event: Int?
        var marks: Marks = []
        /// Whether the event must be present.
        var isPromised: Bool {
            event != nil && !marks.isDisjoint(with: [.published, .acknowledged])
                && marks.isDisjoint(with: [.volatile, .damaged, .removed])
        }
    }

    /// The limit of positions. They are dense, so a larger one is an error.
    static let limit: UInt64 = 1 << 20
    private static let head = Array(#"{"type":"track","event":"E","userId":"u","messageId":""#.utf8)

    /// The JSON of every event that was sent, by number.
    private(set) var events: [[UInt8]] = []
    private var positionOf: [UInt64?] = []
    var positions: [Position] = []

    /// Makes an event.
    /// - Returns: its number.
    mutating func make(size: Int) -> Int {
        let number = events.count
        let digits = String(number)
        var json = Self.head + Array((String(repeating: "0", count: 8 - digits.count) + digits).utf8)
        json += Array(#"","p":""#.utf8)
        let fill = UInt8(ascii: "a") + UInt8(number % 26)
        json += [UInt8](repeating: fill, count: max(0, size - json.count - 2)) + Array("\"}".utf8)
        events.append(json)
        positionOf.append(nil)
        return number
    }

    /// The number of the event with these bytes. nil: no such event was sent.
    func number(of json: some RandomAccessCollection<UInt8>) -> Int? {
        let digits = json.dropFirst(Self.head.count).prefix(8)
        guard let number = Int(String(decoding: digits, as: UTF8.self)), events.indices.contains(number),
            Self.areEqual(events[number], json)
        else { return nil }
        return number
    }

    func position(of event: Int) -> UInt64? { positionOf[event] }

    subscript(position: UInt64) -> Position {
        position < UInt64(positions.count) ? positions[Int(position)] : Position()
    }

    private static func areEqual(_ a: [UInt8], _ b: some RandomAccessCollection<UInt8>) -> Bool {
        guard a.count == b.count else { return false }
        return unsafe a.withUnsafeBytes { a in
            b.withContiguousStorageIfAvailable { b in
                guard let first = a.baseAddress, let second = b.baseAddress else { return true }
                return unsafe memcmp(first, second, a.count) == 0
            } ?? false
        }
    }

    mutating func mark(_ range: Range<UInt64>, _ marks: Marks) {
        for position in range.clamped(to: 0..<UInt64(positions.count)) {
            positions[Int(position)].marks.formUnion(marks)
        }
    }

    /// Records the position of an event.
    /// - Returns: the violation. nil: the position is valid.
    mutating func assign(_ event: Int, to position: UInt64) -> String? {
        guard position < Self.limit else { return "position \(position) is above the limit" }
        while UInt64(positions.count) <= position { positions.append(Position()) }
        if let old = positions[Int(position)].event {
            return "position \(position) of event \(old) was also assigned to event \(event)"
        }
        if let old = positionOf[event] { return "event \(event) has positions \(old) and \(position)" }
        positions[Int(position)] = Position(event: event)
        positionOf[event] = position
        return nil
    }

    /// Forgets a position whose event was not promised. The journal may assign it again.
    mutating func forget(_ position: UInt64) {
        if let event = positions[Int(position)].event { positionOf[event] = nil }
        positions[Int(position)] = Position(
            event: nil, marks: positions[Int(position)].marks.intersection(.interrupted))
    }
}
