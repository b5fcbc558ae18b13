import Glibc

/// What is true, as far as the world's outside knows: what was sent, which position it was given, what was
/// promised about it, and what became of it at each destination. It shares nothing with the code under
/// test.
struct Ledger {
    struct Marks: OptionSet {
        let rawValue: UInt8
        /// Readers may see it, so it is on disk and never goes.
        static let published = Marks(rawValue: 1)
        static let acknowledged = Marks(rawValue: 2)
        /// Acknowledged as written only (`sync:` interval or never), or on a file that failed then.
        static let volatile = Marks(rawValue: 4)
        /// Its batch was damaged at rest.
        static let damaged = Marks(rawValue: 8)
        /// The journal has told that it is missing.
        static let told = Marks(rawValue: 16)
        /// Retention has removed it.
        static let removed = Marks(rawValue: 32)
        /// The journal has told that its write was interrupted: stays with a position whose event is forgotten.
        static let interrupted = Marks(rawValue: 64)
    }

    struct Position {
        /// nil: nobody's, so far as was promised to anybody.
        var event: Int?
        var marks: Marks = []
        /// Must be there whatever happens.
        var isPromised: Bool {
            event != nil && !marks.isDisjoint(with: [.published, .acknowledged])
                && marks.isDisjoint(with: [.volatile, .damaged, .removed])
        }
    }

    /// Positions are dense; a larger one is nonsense.
    static let limit: UInt64 = 1 << 20
    private static let head = Array(#"{"type":"track","event":"E","userId":"u","messageId":""#.utf8)

    /// By number: each event's JSON, ever sent.
    private(set) var events: [[UInt8]] = []
    private var positionOf: [UInt64?] = []
    var positions: [Position] = []

    /// - Returns: the number of a new event.
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

    /// - Returns: nil if these bytes are no event that was ever sent.
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
        for position in range.clamped(to: 0..<UInt64(positions.count)) { positions[Int(position)].marks.formUnion(marks) }
    }

    /// An event was given a position.
    /// - Returns: what is wrong with that.
    mutating func assign(_ event: Int, to position: UInt64) -> String? {
        guard position < Self.limit else { return "position \(position) was given" }
        while UInt64(positions.count) <= position { positions.append(Position()) }
        if let old = positions[Int(position)].event { return "position \(position) of event \(old) was given to event \(event) too" }
        if let old = positionOf[event] { return "event \(event) has positions \(old) and \(position)" }
        positions[Int(position)] = Position(event: event)
        positionOf[event] = position
        return nil
    }

    /// Nobody was promised anything about this position: it may be given again.
    mutating func forget(_ position: UInt64) {
        if let event = positions[Int(position)].event { positionOf[event] = nil }
        positions[Int(position)] = Position(event: nil, marks: positions[Int(position)].marks.intersection(.interrupted))
    }
}
