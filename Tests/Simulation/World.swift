import Delivery
import Events
import Ingest
import Journal
import Platform
import Seams
import Telemetry

/// One run: a machine with a disk, a daemon that lives and dies on it, clients, and destinations. All
/// in one thread; every decision comes from the seed.
///
/// What is real: the journal (writer, keeper, recovery, cursors, retention, dead letters), the workers of
/// Delivery, the protocol of Ingest, and the seams between them. What is simulated stands at the ends.
final class World {
    enum Count: Int, CaseIterable {
        case steps, events, acknowledged, delivered, offers, offersAgain, deadLetters, retried, gaps, lives, reloads, replays, rereads, checks
    }

    /// What a daemon has while it lives.
    struct Life {
        var journal: Journal
        var steps: JournalSteps
        var running: [Running] = []
        /// A retry outlives a reload.
        var letters: [String: DeadLetterFile] = [:]
    }

    struct Running {
        var outside: Outside
        var destination: SimulatedDestination
        var letters: SimulatedDeadLetters
        var worker: DeliveryWorker
    }

    static let directory = "/var/lib/penstock/journal"

    /// Lies in the directory itself.
    static func isSegment(_ path: String) -> Bool { path.utf8.count == directory.utf8.count + 25 && path.hasSuffix(".seg") }

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
    /// Names of the configured destinations, in order.
    var configured: [String] = []
    var clients: [Client] = []
    var counts = [Int](repeating: 0, count: Count.allCases.count)
    /// The published end that was seen last.
    var published: UInt64 = 0
    /// Below, something may have been acknowledged that is not on disk.
    var acknowledgedAsWritten: UInt64 = 0
    var gapsSeen = 0
    /// Damage to what is not a segment: what it may excuse.
    /// The cursors as they were before they were damaged first.
    var damagedCursors: (inode: Int, bytes: [UInt8])?
    var damagedLive = false
    var damagedManifest: (inode: Int, bytes: [UInt8])?
    var damagedInodes: Set<Int> = []
    var segmentMaps: [Int: [SegmentMap]] = [:]
    let isDamaging: Bool
    var scenario: Scenario
    /// What an earlier journal had in its first segment, which has the name that ours has.
    var earlier: [UInt8] = []
    /// It dies once in so many steps.
    let deathRate: Int
    var damageLeft = 4
    /// Bytes of the filesystem, while nobody else fills it.
    var usualCapacity = Int.max
    /// Copies in quarantine that the journal has told of, and how long each is.
    var copies: [(path: String, count: Int)] = []
    /// `sync: never` was in force once.
    var hasBeenUnsynced = false
    var damagedLetters: Set<String> = []
    /// Since the last look at a whole journal.
    var wasPowerCut = false
    private(set) var door: SourceDoor?

    var journal: Journal? { life?.journal }

    /// The disk has taken what a destination had settled: live cursors that could not be written or were damaged, or a
    /// page that it dropped.
    var mayForget: Bool {
        log.hasFailedLiveCursors || damagedLive || damagedCursors != nil || faults.counts[Faults.Kind.evictedPage.rawValue] > 0
    }

    init(seed: UInt64, protections: Protections, prints: Bool) {
        self.seed = seed
        scenario = Scenario(seed)
        random = Generator(seed: seed)
        trace = Trace(prints: prints)
        faults = Faults(random.fork())
        disk = SimulatedDisk(random.fork(), faults, trace)
        log = WorldLog(trace)
        // Every line counts here, so time goes fast for the log.
        let time = LogTime()
        telemetry = Telemetry(sink: log, minimum: .warning, now: { time.next() })
        options = World.options(&random)
        options.protections = protections
        scenario.change(&options)
        for name in ["archive", "mixpanel", "warehouse"] { outsides.append(Outside(name: name, &random)) }
        // A slot of several sectors, so that it can be torn.
        if scenario.kind == .failingCursors { for outside in outsides { outside.stateSize = 2000 } }
        let some = random.within(0...3)
        configured = Array(["archive", "mixpanel", "warehouse"].prefix(scenario.destinations ?? some))
        if scenario.needsLiveCursors { for outside in outsides { outside.settleAtOnce() } }
        deathRate = random.pick([8, 20, 50, 150])
        isDamaging = random.percent(scenario.kind == .earlierJournal ? 100 : 40)
        hasBeenUnsynced = options.sync == .never
        let appender = SimulatedAppender(self)
        door = SourceDoor(
            limits: SourceLimits(
                maximumEventSize: 32 << 10, maximumDepth: 16, maximumConnections: 8, maximumUnreadAnswers: 1 << 20),
            appender: appender, statistics: SourceStatistics(), clock: clock)
        disk.onRemoval = { [unowned self] path, inode in removed(path, inode) }
        disk.onSegmentFailure = { [unowned self] in noteFailure() }
        if random.percent(15) { usualCapacity = (options.segmentSize * random.within(3...8)) + (64 << 10) }
        disk.capacity = usualCapacity
    }

    static func options(_ random: inout Generator) -> JournalOptions {
        var options = JournalOptions()
        options.segmentSize = random.percent(90) ? 64 << 10 : 128 << 10
        options.queueBytes = 256 << 10
        change(&options, &random)
        return options
    }

    /// What a reload may change.
    static func change(_ options: inout JournalOptions, _ random: inout Generator) {
        options.sync = random.pick([.always, .always, .always, .always, .interval(.milliseconds(200)), .interval(.seconds(2)), .never])
        options.retainSize = options.segmentSize * random.within(3...8)
        options.retainTime = random.pick([.zero, .seconds(1), .seconds(60), .seconds(7 * 86_400)])
        options.whenFull = random.pick([.block, .dropOldest, .reject])
        options.cursorInterval = random.pick([.milliseconds(50), .seconds(1), .seconds(30)])
        options.reserveBytes = random.pick([0, 64 << 10])
    }

    func count(_ what: Count, _ by: Int = 1) { counts[what.rawValue] += by }

    func outside(_ name: String) -> Outside? { outsides.first { $0.name == name } }

    /// Runs it to its end.
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

/// The log as the operator sees it; the simulator reads what the journal tells there and nowhere else.
final class WorldLog: LogSink, @unchecked Sendable {
    private let trace: Trace
    /// Destinations and the positions that `drop_oldest` took from them, not looked at yet.
    private var drops: [(name: String, positions: Range<UInt64>)] = []
    /// Live cursors could not be written.
    private(set) var hasFailedLiveCursors = false
    /// Destinations whose cursor was lost, and where each goes on; not looked at yet.
    private var restarts: [(name: String, position: UInt64)] = []
    /// A copy to quarantine was refused by the disk.
    private(set) var hasFailedCopy = false
    /// A segment that recovery read could not be sealed.
    private(set) var hasFailedSeal = false

    init(_ trace: Trace) { self.trace = trace }

    func write(_ level: Level, _ line: String) {
        trace.note("log", level.rawValue, line)
        if Memory.contains(line, "could not be copied to quarantine") { hasFailedCopy = true }
        if Memory.contains(line, "cursors.live cannot be written") { hasFailedLiveCursors = true }
        if Memory.contains(line, "could not be sealed") { hasFailedSeal = true }
        guard Memory.contains(line, " loses ") else { return }
        let words = line.split(separator: " ").map(String.init)
        if line.contains("is missing or damaged: everything since position"), let destination = words.firstIndex(of: "destination"),
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

/// Ten minutes a line.
final class LogTime: @unchecked Sendable {
    private var time: Int64 = 0
    func next() -> Int64 {
        time += 600_000_000_000
        return time
    }
}
