import Delivery
import Events
import Ingest
import Journal
import JournalAdapters
import Platform
import Telemetry

/// One run: a machine with a disk, a daemon that starts and crashes on it, clients and destinations. A world has
/// one thread, and every decision comes from the seed.
///
/// Real code: the journal (writer, keeper, recovery, cursors, retention, dead letters), the workers of Delivery,
/// the protocol of Ingest, and the seams between them. Only the outer ends are simulated.
final class World {
    enum Count: Int, CaseIterable {
        case steps, events, acknowledged, delivered, offers, offersAgain, deadLetters, retried, gaps, lives, reloads,
            replays, rereads, checks
    }

    /// The state of a running daemon.
    struct Life {
        var journal: Journal
        var steps: JournalSteps
        var running: [Running] = []
        /// The dead letters that a reload keeps, because a retry continues after it.
        var letters: [String: DeadLetterFile] = [:]
    }

    struct Running {
        var outside: Outside
        var destination: SimulatedDestination
        var letters: SimulatedDeadLetters
        var worker: DeliveryWorker
    }

    static let directory = "/var/lib/penstock/journal"

    /// Whether the path is a segment of the journal directory itself.
    static func isSegment(_ path: String) -> Bool {
        path.utf8.count == directory.utf8.count + 25 && path.hasSuffix(".seg")
    }

    /// Whether the path is a file of live cursors.
    static func isLiveCursors(_ path: String) -> Bool {
        path.hasPrefix(directory + "/cursors.live.") && !path.hasSuffix(".new")
    }

    let seed: UInt64
    let trace: Trace
    let disk: SimulatedDisk
    let faults: Faults
    let clock = SimulatedClock()
    let log: WorldLog
    let telemetry: Telemetry
    var random: Generator
    var ledger = Ledger()
    var options: JournalOptions
    var life: Life?
    var outsides: [Outside] = []
    /// The names of the configured destinations, in order.
    var configured: [String] = []
    var clients: [Client] = []
    var counts = [Int](repeating: 0, count: Count.allCases.count)
    /// The last published end that was seen.
    var published: UInt64 = 0
    /// Events below this position may have been acknowledged as written without being durable.
    var acknowledgedAsWritten: UInt64 = 0
    var gapsSeen = 0
    // Damage to files other than segments. It excuses some violations.
    /// The cursors before their first damage.
    var damagedCursors: (inode: Int, bytes: [UInt8])?
    var damagedLive = false
    var damagedManifest: (inode: Int, bytes: [UInt8])?
    var damagedInodes: Set<Int> = []
    var flippedBits: Set<FlippedBit> = []
    var segmentMaps: [Int: [SegmentMap]] = [:]
    let isDamaging: Bool
    var scenario: Scenario
    /// The first segment of an earlier journal. It has the same name as this journal's first segment.
    var earlier: [UInt8] = []
    /// The process dies once in this many steps on average.
    let deathRate: Int
    var damageLeft = 4
    /// The size of the filesystem in bytes while no other program fills it.
    var usualCapacity = Int.max
    /// Reported copies in quarantine, with their lengths.
    var copies: [(path: String, count: Int)] = []
    /// Whether `sync: never` was active at some time.
    var hasBeenUnsynced = false
    var damagedLetters: Set<String> = []
    /// Whether the power failed since the last audit.
    var wasPowerCut = false
    private(set) var admission: EventAdmission?
    private(set) var source: SimulatedSource?

    var journal: Journal? { life?.journal }

    /// Whether the disk may have lost settlements: live cursors could not be written or were damaged, or a lost page
    /// was evicted.
    var mayForget: Bool {
        log.hasFailedLiveCursors || damagedLive || damagedCursors != nil
            || faults.counts[Faults.Kind.evictedPage.rawValue] > 0
    }

    init(seed: UInt64, protections: Protections, prints: Bool) {
        self.seed = seed
        scenario = Scenario(seed)
        random = Generator(seed: seed)
        trace = Trace(prints: prints)
        faults = Faults(random.fork())
        disk = SimulatedDisk(random.fork(), faults, trace)
        log = WorldLog(trace)
        // The simulation needs every log line, so the log's clock runs fast enough to avoid rate limits.
        let time = LogTime()
        telemetry = Telemetry(sink: log, minimum: .warning, now: { time.next() })
        options = World.options(&random)
        options.protections = protections
        scenario.change(&options)
        for name in ["archive", "mixpanel", "warehouse"] { outsides.append(Outside(name: name, &random)) }
        // The slots have several sectors so that they can be torn.
        if scenario.kind == .failingCursors { for outside in outsides { outside.stateSize = 2000 } }
        let some = random.within(0...3)
        configured = Array(["archive", "mixpanel", "warehouse"].prefix(scenario.destinations ?? some))
        if scenario.needsLiveCursors { for outside in outsides { outside.settleAtOnce() } }
        deathRate = random.pick([8, 20, 50, 150])
        isDamaging = random.percent(scenario.kind == .earlierJournal ? 100 : 40)
        hasBeenUnsynced = options.sync == .never
        let appender = SimulatedAppender(self)
        admission = EventAdmission(
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 16, maximumConnections: 8, maximumUnreadAnswers: 1 << 20),
            appender: appender, statistics: SourceStatistics(), clock: clock)
        if SimulatedSource.isIn(seed) { source = SimulatedSource(self, Generator(seed: ~seed)) }
        disk.onRemoval = { [unowned self] path, inode in removed(path, inode) }
        disk.onSegmentFailure = { [unowned self] in noteFailure() }
        if random.percent(15) { usualCapacity = (options.segmentSize * random.within(3...8)) + (64 << 10) }
        disk.capacity = usualCapacity
    }

    static func options(_ random: inout Generator) -> JournalOptions {
        var options = JournalOptions()
        options.segmentSize = random.percent(90) ? 64 << 10 : 128 << 10
        options.queueBytes = 256 << 10
        options.memoryBytes = 1 << 20
        change(&options, &random)
        return options
    }

    /// Changes the options that a reload can change.
    static func change(_ options: inout JournalOptions, _ random: inout Generator) {
        options.sync = random.pick([
            .always, .always, .always, .always, .interval(.milliseconds(200)), .interval(.seconds(2)), .never,
        ])
        options.retainSize = options.segmentSize * random.within(3...8)
        options.retainTime = random.pick([.zero, .seconds(1), .seconds(60), .seconds(7 * 86_400)])
        options.whenFull = random.pick([.block, .dropOldest, .reject])
        options.cursorInterval = random.pick([.milliseconds(50), .seconds(1), .seconds(30)])
        options.reserveBytes = random.pick([0, 64 << 10])
    }

    func count(_ what: Count, _ by: Int = 1) { counts[what.rawValue] += by }

    func outside(_ name: String) -> Outside? { outsides.first { $0.name == name } }

    /// Runs the world to its end.
    func run() {
        begin()
        let steps = random.within(60...260)
        var step = 0
        while step < steps, trace.violation == nil {
            count(.steps)
            if scenario.isDue { play() }
            if !disk.isDead { act() }
            if disk.isDead { comeBack(afterPowerCut: random.percent(60)) }
            look()
            step += 1
        }
        if trace.violation == nil { drain() }
        life = nil
    }
}

/// The operator's log. The simulation gets some of the journal's reports only from these lines.
final class WorldLog: LogSink, @unchecked Sendable {
    private let trace: Trace
    /// Destinations and the positions that `drop_oldest` removed for them, not processed yet.
    private var drops: [(name: String, positions: Range<UInt64>)] = []
    /// Whether live cursors could not be written.
    private(set) var hasFailedLiveCursors = false
    /// Destinations whose cursor was lost, with the positions where they continue, not processed yet.
    private var restarts: [(name: String, position: UInt64)] = []
    /// Whether a copy to quarantine failed.
    private(set) var hasFailedCopy = false
    /// Whether recovery could not seal a segment.
    private(set) var hasFailedSeal = false

    init(_ trace: Trace) { self.trace = trace }

    func write(_ level: Level, _ line: String) {
        trace.note("log", level.rawValue, line)
        if Memory.contains(line, "could not be copied to quarantine") { hasFailedCopy = true }
        if Memory.contains(line, "the live cursors cannot be written") { hasFailedLiveCursors = true }
        if Memory.contains(line, "could not be sealed") { hasFailedSeal = true }
        guard Memory.contains(line, " loses ") else { return }
        let words = line.split(separator: " ").map(String.init)
        if line.contains("is missing or damaged: everything since position"),
            let destination = words.firstIndex(of: "destination"),
            let since = words.firstIndex(of: "since"), words.count > since + 2, let position = UInt64(words[since + 2])
        {
            restarts.append((words[destination + 1], position))
        }
        guard let loses = words.firstIndex(of: "loses"), loses > 0, words.count > loses + 4,
            let first = UInt64(words[loses + 2]), let end = UInt64(words[loses + 4]), first < end
        else { return }
        drops.append((words[loses - 1], first..<end))
    }

    func takeRestarts() -> [(name: String, position: UInt64)] { exchange(&restarts, with: []) }

    func takeDrops() -> [(name: String, positions: Range<UInt64>)] { exchange(&drops, with: []) }
}

/// A clock that advances by ten minutes per log line.
final class LogTime: @unchecked Sendable {
    private var time: Int64 = 0
    func next() -> Int64 {
        time += 600_000_000_000
        return time
    }
}
