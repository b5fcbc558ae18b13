/// The memory of a client's record. It outlives the process, word by word, in the order in which the words were stored.
protocol RecordWords: AnyObject {
    subscript(word: Int) -> UInt64 { get set }
}

/// What the next process must know of one client: how far its stream is settled, and how far it was consumed.
///
/// Offsets count the bytes of the client's stream from its beginning. The kernel keeps all bytes from `consumed` on, and
/// the daemon has looked at those up to `peeked` (SO_PEEK_OFF, socket(7)). The client's events up to an entry's offset
/// are in the journal once the journal holds all positions below the entry's end. Bytes that leave the kernel before
/// they are settled lie in the client's area of the kept memory, from `keptFrom` on.
///
/// A process can be killed between any two stores and calls:
///
/// - An entry is stored before its events can become durable. If they never do, the next process reads them again.
/// - While bytes are consumed, `isConsuming` is 1. The kernel moves the peek offset back by what it has handed over, so
///   `peeked` minus that offset is what was consumed.
///
/// Pure. Belongs to the client's event loop.
final class ClientRecord {
    enum Word {
        static let cookie = 0
        static let source = 1
        static let isHTTP = 2
        static let consumed = 3
        static let peeked = 4
        static let isConsuming = 5
        static let keptFrom = 6
        /// The numbers of the first entry that is not settled, and of the next entry.
        static let window = 7
        /// Lines: how many are acknowledged. HTTP: the offset up to which requests are answered.
        static let answered = 8
        static let isAnswering = 9
        static let entries = 10
    }
    /// Words of one record.
    static let size = 128
    /// A power of two, because numbers of entries wrap around.
    static let entries: UInt32 = 32
    /// Entries that a turn may add without a look at the room.
    private static let spare: UInt32 = 4

    /// The state of the client's protocol at an offset.
    struct State: Equatable {
        /// Lines before the offset; HTTP: events of the request that begins there which are in entries before.
        var lines: UInt64 = 0
        var wantsAnswers = false
        /// The offset is in the middle of a line that was refused.
        var isInLongLine = false

        init(lines: UInt64 = 0, wantsAnswers: Bool = false, isInLongLine: Bool = false) {
            self.lines = lines
            self.wantsAnswers = wantsAnswers
            self.isInLongLine = isInLongLine
        }

        fileprivate init(_ word: UInt64) {
            lines = word & ~(3 << 62)
            wantsAnswers = word >> 63 == 1
            isInLongLine = word >> 62 & 1 == 1
        }

        fileprivate var word: UInt64 {
            lines & ~(3 << 62) | (wantsAnswers ? 1 << 63 : 0) | (isInLongLine ? 1 << 62 : 0)
        }
    }

    struct Entry: Equatable {
        var offset: UInt64
        /// The journal's position at which the events before the offset are durable.
        var end: UInt64
        var state: State
    }

    private let words: any RecordWords
    private var ring: [Entry]
    private var first: UInt32
    private var next: UInt32
    private(set) var consumed: UInt64
    private(set) var peeked: UInt64
    private(set) var keptFrom: UInt64
    private(set) var answered: UInt64
    private(set) var isHTTP: Bool

    // MARK: Beginning

    /// The record of a new client.
    init(new words: any RecordWords, cookie: UInt64, source: UInt64) {
        self.words = words
        let beginning = Entry(offset: 0, end: 0, state: State())
        ring = Array(repeating: beginning, count: Int(Self.entries))
        (first, next) = (0, 0)
        (consumed, peeked, keptFrom, answered, isHTTP) = (0, 0, 0, 0, false)
        for word in 0..<Word.entries { words[word] = 0 }
        store(beginning, number: first &- 1)
        words[Word.source] = source
        // Last: now the record counts.
        words[Word.cookie] = cookie
    }

    /// The record that an earlier process has left. Entries whose events are not durable are dropped.
    /// - Parameters:
    ///   - peekOffset: the kernel's.
    ///   - durable: the end of the journal: nothing was appended since.
    init(left words: any RecordWords, peekOffset: UInt64, durable: UInt64) {
        self.words = words
        ring = (0..<Int(Self.entries)).map { place in
            let word = Word.entries + 3 * place
            return Entry(offset: words[word], end: words[word + 1], state: State(words[word + 2]))
        }
        first = UInt32(truncatingIfNeeded: words[Word.window] >> 32)
        next = UInt32(truncatingIfNeeded: words[Word.window])
        isHTTP = words[Word.isHTTP] == 1
        keptFrom = words[Word.keptFrom]
        answered = words[Word.answered]
        consumed =
            words[Word.isConsuming] == 1
            ? max(words[Word.consumed], words[Word.peeked] &- min(peekOffset, words[Word.peeked]))
            : words[Word.consumed]
        peeked = consumed
        words[Word.consumed] = consumed
        words[Word.isConsuming] = 0
        settle(durable: durable)
        next = first
        storeWindow()
    }

    var cookie: UInt64 { words[Word.cookie] }
    var source: UInt64 { words[Word.source] }
    /// Whether an answer may have been sent that is not known to be sent: nobody can tell whether to send it again.
    var hasUncertainAnswer: Bool { isHTTP && words[Word.isAnswering] == 1 }
    /// Whether bytes before the restart's offset left the kernel and are not kept: a line or request larger than the
    /// area was cut.
    func isCut(area: Int) -> Bool { consumed > restart && (keptFrom > restart || consumed - keptFrom > UInt64(area)) }

    func end() { words[Word.cookie] = 0 }

    // MARK: Entries

    private subscript(number: UInt32) -> Entry { ring[Int(number & (Self.entries - 1))] }

    private func store(_ entry: Entry, number: UInt32) {
        let place = Int(number & (Self.entries - 1))
        ring[place] = entry
        let word = Word.entries + 3 * place
        words[word] = entry.offset
        words[word + 1] = entry.end
        words[word + 2] = entry.state.word
    }

    private func storeWindow() { words[Word.window] = UInt64(first) << 32 | UInt64(next) }

    /// Whether a turn may take more input. One entry stays: the last that is settled.
    var hasRoom: Bool { next &- first < Self.entries - 1 - Self.spare }
    var isWaiting: Bool { first != next }
    /// How many entries are not settled.
    var waiting: Int { Int(next &- first) }
    /// The position at which everything that was taken is durable; nil: it is.
    var awaitedEnd: UInt64? { isWaiting ? self[next &- 1].end : nil }
    /// The offset up to which everything is durable or refused.
    var settled: UInt64 { self[first &- 1].offset }
    var settledState: State { self[first &- 1].state }
    /// The offset up to which input was taken into entries.
    var taken: UInt64 { self[next &- 1].offset }
    /// Where the next process would go on. A request's bytes are needed until it is answered.
    var restart: UInt64 { isHTTP ? min(settled, answered) : settled }

    /// The input before `entry.offset` is durable at `entry.end`.
    func add(_ entry: Entry) {
        guard next &- first < Self.entries - 1 else {
            preconditionFailure("a client's turn has added too many entries")
        }
        var entry = entry
        // A group that repeats earlier events may have a lower end.
        entry.end = max(entry.end, self[next &- 1].end)
        store(entry, number: next)
        next &+= 1
        storeWindow()
    }

    /// The input before `offset` needs no commit of its own: it was refused, or has no events.
    func advance(to offset: UInt64, _ state: State) {
        let last = self[next &- 1]
        if offset > last.offset || (offset == last.offset && state != last.state && !isHTTP) {
            add(Entry(offset: offset, end: 0, state: state))
        }
    }

    func settle(durable: UInt64) {
        let before = first
        while first != next, self[first].end <= durable { first &+= 1 }
        if first != before { storeWindow() }
    }

    // MARK: Answers

    func chooseHTTP() {
        isHTTP = true
        words[Word.isHTTP] = 1
    }

    func beginAnswer() { words[Word.isAnswering] = 1 }

    func noteAnswered(_ number: UInt64) {
        if number != answered {
            answered = number
            words[Word.answered] = number
        }
        if isHTTP { words[Word.isAnswering] = 0 }
    }

    // MARK: Consuming

    func notePeeked(_ count: Int) { peeked &+= UInt64(count) }

    /// Bytes that the daemon has looked at and that are still in the kernel.
    var unread: Int { Int(peeked - consumed) }
    /// Bytes in the area that the next process would need.
    var kept: Int { Int(consumed - min(consumed, restart)) }

    struct Consumption: Equatable {
        /// Bytes that are not needed any more.
        var dropped: Int
        /// Bytes that follow, and their place in the area.
        var kept: Int
        var place: Int
    }

    /// Begins to consume bytes up to `target`, as far as the area has room for those that are still needed. `finish` must
    /// follow.
    /// - Parameter loses: bytes for which there is no room are dropped: a kill would cut the client's line or request.
    func begin(upTo target: UInt64, area: Int, loses: Bool = false) -> Consumption? {
        let target = min(target, peeked)
        guard target > consumed else { return nil }
        if consumed <= restart, keptFrom != restart {
            keptFrom = restart
            words[Word.keptFrom] = keptFrom
        }
        let needed = max(restart, consumed)
        let dropped = min(target, needed) - consumed
        let place = needed - keptFrom
        let room = UInt64(area) - min(place, UInt64(area))
        let kept = min(target - min(target, needed), room)
        let lost = loses && room == 0 ? target - needed : 0
        guard dropped + kept + lost > 0 else { return nil }
        words[Word.peeked] = peeked
        words[Word.isConsuming] = 1
        return Consumption(dropped: Int(dropped + lost), kept: Int(kept), place: kept == 0 ? 0 : Int(place))
    }

    func finish(_ count: Int) {
        consumed += UInt64(count)
        words[Word.consumed] = consumed
        words[Word.isConsuming] = 0
    }
}
