/// The memory of a client's record. It outlives the process, word by word, in the order in which the words were stored.
protocol RecordWords: AnyObject {
    subscript(word: Int) -> UInt64 { get set }
}

/// What the next process must know of one client: how much of its stream was read, and how far that is settled.
///
/// Offsets count the bytes of the client's stream from its beginning. The bytes from `restart` up to `consumed` have
/// left the kernel and are not settled: they are in the client's ring, a part of the kept memory into which the socket
/// is read. The client's events up to an entry's offset are in the journal once the journal holds all positions below
/// the entry's end.
///
/// A process can be killed between any two stores and calls:
///
/// - An entry is stored before its events can become durable. If they never do, the next process reads them again from
///   the ring.
/// - The kernel counts what is read: it moves the socket's peek offset (SO_PEEK_OFF, socket(7)) back by as much.
///   Nothing is ever peeked, so `limit` minus that offset is what was read, even if the process was killed in the
///   middle of the call. While the offset is set anew, `isExact` is 1, and `exact` tells it.
///
/// Pure. Belongs to the client's event loop.
final class ClientRecord {
    enum Word {
        static let cookie = 0
        static let source = 1
        static let isHTTP = 2
        static let limit = 3
        static let exact = 4
        static let isExact = 5
        /// The offset whose byte is the ring's first one, and the size of the ring.
        static let origin = 6
        static let ring = 7
        /// The numbers of the first entry that is not settled, and of the next entry.
        static let window = 8
        /// Lines: how many are acknowledged. HTTP: the offset up to which requests are answered.
        static let answered = 9
        static let isAnswering = 10
        static let entries = 11
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

    /// The peek offset from which the kernel counts down.
    static let count = 1 << 30
    /// Below this, it is set anew. More than one read.
    private static let low = 1 << 22

    private let words: any RecordWords
    private var ring: [Entry]
    private var first: UInt32
    private var next: UInt32
    /// Bytes that were read.
    private(set) var consumed: UInt64
    private var limit: UInt64
    private(set) var origin: UInt64
    private(set) var size: Int
    private(set) var answered: UInt64
    private(set) var isHTTP: Bool

    // MARK: Beginning

    /// The record of a new client. `arm` must follow.
    /// - Parameter size: bytes of its ring.
    init(new words: any RecordWords, cookie: UInt64, source: UInt64, size: Int) {
        self.words = words
        let beginning = Entry(offset: 0, end: 0, state: State())
        ring = Array(repeating: beginning, count: Int(Self.entries))
        (first, next) = (0, 0)
        (consumed, limit, origin, answered, isHTTP) = (0, 0, 0, 0, false)
        self.size = size
        for word in 0..<Word.entries { words[word] = 0 }
        store(beginning, number: first &- 1)
        words[Word.isExact] = 1
        words[Word.ring] = UInt64(size)
        words[Word.source] = source
        // Last: now the record counts.
        words[Word.cookie] = cookie
    }

    /// The record that an earlier process has left. Entries whose events are not durable are dropped. `arm` must
    /// follow.
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
        origin = words[Word.origin]
        size = max(1, Int(clamping: words[Word.ring]))
        answered = words[Word.answered]
        limit = words[Word.limit]
        consumed = words[Word.isExact] == 1 ? words[Word.exact] : limit - min(limit, peekOffset)
        settle(durable: durable)
        next = first
        storeWindow()
    }

    /// Sets the kernel's count if it is not set or nearly used up.
    /// - Parameter set: sets the socket's peek offset.
    /// - Returns: false: the kernel refuses it.
    func arm(always: Bool = false, set: (Int) -> Bool) -> Bool {
        guard always || limit - min(limit, consumed) < UInt64(Self.low) else { return true }
        words[Word.exact] = consumed
        words[Word.isExact] = 1
        guard set(Self.count) else { return false }
        limit = consumed + UInt64(Self.count)
        words[Word.limit] = limit
        words[Word.isExact] = 0
        return true
    }

    var cookie: UInt64 { words[Word.cookie] }
    var source: UInt64 { words[Word.source] }
    /// Whether an answer may have been sent that is not known to be sent: nobody can tell whether to send it again.
    var hasUncertainAnswer: Bool { isHTTP && words[Word.isAnswering] == 1 }
    /// Whether a part of the unsettled input is not in the ring any more: a line or request larger than the ring.
    var isCut: Bool { held > size }

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

    // MARK: Reading

    /// Bytes that were read and are not settled.
    var held: Int { Int(consumed - min(consumed, restart)) }

    /// Whether a read has a place. Without one, the input waits for a commit, or until answers are read. Many small
    /// reads would cost more than a few large ones.
    var canRead: Bool { held <= size - size / 4 || (!isWaiting && restart == settled) }

    /// The position at which about half of the places are free again, of entries and in the ring; nil: nothing waits.
    var endOfHalf: UInt64? {
        guard isWaiting else { return nil }
        let half = UInt64(size / 2)
        for number in 0..<(next &- first)
        where next &- first &- number <= Self.entries / 2 && consumed - self[first &+ number].offset <= half {
            return self[first &+ number].end
        }
        return awaitedEnd
    }

    /// Where the next bytes are read to, at most `most`. The ring begins anew whenever it is empty, so a client that
    /// sends little uses little memory. A line that is larger than the ring overwrites its own beginning.
    func room(_ most: Int) -> (place: Int, count: Int) {
        if held == 0, origin != consumed {
            origin = consumed
            words[Word.origin] = origin
        }
        let place = Int((consumed - origin) % UInt64(size))
        return (place, min(most, size - place, held < size ? size - held : size))
    }

    func noteRead(_ count: Int) { consumed += UInt64(count) }

    /// Makes the ring larger, if nothing in it has to move: what it holds lies in one piece.
    func grow(to larger: Int) -> Bool {
        guard larger > size, !isCut else { return false }
        if consumed - origin > UInt64(size) {
            guard held > 0, heldRanges.count == 1 else { return false }
            // The same places as before: the origin moves by whole rings.
            origin = restart - (restart - origin) % UInt64(size)
            words[Word.origin] = origin
        }
        size = larger
        words[Word.ring] = UInt64(size)
        return true
    }

    /// Makes the ring smaller, if it is empty.
    func shrink(to smaller: Int) -> Bool {
        guard held == 0 else { return false }
        origin = consumed
        words[Word.origin] = origin
        size = smaller
        words[Word.ring] = UInt64(size)
        return true
    }

    /// The places of the unsettled input in the ring, in order.
    var heldRanges: [Range<Int>] {
        guard held > 0, !isCut, restart >= origin else { return [] }
        let start = Int((restart - origin) % UInt64(size))
        let end = start + held
        return end <= size ? [start..<end] : [start..<size, 0..<end - size]
    }
}
