import Events
import Ingest
import Platform
import PluginHosting
import Telemetry

/// What the thread of a source does: it starts the plugin, appends its offers, reports what is stored, and starts a new
/// process when one has ended.
final class SourceWorker {
    /// The most offers that are appended before stored ones are reported.
    private static let turn = 64
    /// How long the worker waits for a notice of the journal at most. Notices are not lost; this bounds what a mistake
    /// would cost.
    private static let patience = Duration.seconds(1)
    /// How long the journal may take to store an offer before the source counts as held.
    private static let slowness = Duration.seconds(2)
    /// The waits while the journal refuses events.
    private static let shortestRefusal = Duration.milliseconds(100)
    private static let longestRefusal = Duration.seconds(5)

    private let options: PluginSourceOptions
    private let control: SourceControl
    private let board: SourceBoard
    private let running: RunningPlugin
    private let admission: OfferAdmission
    private let durableEnd: () -> UInt64
    private let lanes: () -> [LanePosition]
    private let telemetry: Telemetry
    private let clock: any Clock

    /// The offer that waits for the journal; it has been scanned.
    private var scanned: ReceivedOffer?
    /// When to append it again although the journal has reported no room; nil: it has not been tried.
    private var nextAttempt: Instant?
    private var refusalPause = RetryPause(shortest: shortestRefusal, longest: longestRefusal)
    private var appended = StoredOffers()
    /// Since when the oldest of them is the next to be stored; nil: there is none.
    private var oldestSince: Instant?
    /// Since when the process has worked; nil: it has not started.
    private var upSince: Instant?

    init(
        _ options: PluginSourceOptions, control: SourceControl, board: SourceBoard, running: RunningPlugin,
        admission: OfferAdmission, durableEnd: @escaping () -> UInt64, lanes: @escaping () -> [LanePosition],
        telemetry: Telemetry, clock: any Clock
    ) {
        self.options = options
        self.control = control
        self.board = board
        self.running = running
        self.admission = admission
        self.durableEnd = durableEnd
        self.lanes = lanes
        self.telemetry = telemetry
        self.clock = clock
    }

    func run() {
        var pause = RetryPause(shortest: options.shortestRetry, longest: options.longestRetry)
        while !isStopping {
            do throws(PluginError) {
                try work()
            } catch {
                guard !isStopping else { break }
                let worked = upSince.map { clock.now() - $0 }
                if let worked, worked >= options.settled { pause.reset() }
                let reason = error.description
                board.set(worked == nil ? .failing(reason: reason) : .retrying(reason: reason))
                wait(pause.take(), after: reason)
            }
        }
        board.set(.stopped)
        control.noteEnd()
    }

    private var isStopping: Bool { control.stopDeadline != nil }

    /// How long a call may take that begins now.
    private var limit: Duration {
        guard let deadline = control.stopDeadline else { return options.deadline }
        return min(options.deadline, max(deadline - clock.now(), .zero))
    }

    /// Waits before another attempt, unless the source is to stop.
    private func wait(_ time: Duration, after reason: String, while condition: () -> Bool = { true }) {
        telemetry.emit(PluginSourceFailed(source: options.name, reason: reason, pause: time))
        let end = clock.now() + time
        while !isStopping, condition(), clock.now() < end { control.bell.wait(until: end) }
    }

    // MARK: One process

    /// Runs one process from its start to an orderly stop.
    /// - Throws: why it has ended, or could not be started.
    private func work() throws(PluginError) {
        upSince = nil
        scanned = nil
        nextAttempt = nil
        appended = StoredOffers()
        oldestSince = nil
        board.start()
        let reporting = PluginReporting(
            owner: options.name, as: .source, telemetry: telemetry, minimum: options.logLevel)
        let receiver = SourceReceiver(
            reporting, window: UInt64(clamping: options.window), offerBytes: options.offerBytes, board: board,
            bell: control.bell)
        let source = try SourceProcess(options, receiver, running, clock)
        control.note(source.process)
        board.noteProcess()
        defer {
            // No message comes after it.
            source.process.close()
            control.note(nil)
        }
        try source.create(within: limit) { plugin, build in
            running.note(plugin, build: build) { reporting.metrics }
            telemetry.emit(PluginLoaded(owner: .source(options.name), plugin: plugin, build: build))
        }
        try connect(source)
        if try waitUntilAllIsDurable(source) {
            try start(source, receiver)
            try serve(source, receiver)
        }
        try finish(source, receiver)
    }

    private func start(_ source: SourceProcess, _ receiver: SourceReceiver) throws(PluginError) {
        let lanes = lanes()
        // It may offer before `start` returns.
        receiver.permitOffers(true)
        try source.start(lanes, within: limit)
        upSince = clock.now()
        board.set(.up)
        telemetry.emit(
            PluginSourceStarted(source: options.name, plugin: source.plugin?.name ?? "", positions: lanes.count))
    }

    private func connect(_ source: SourceProcess) throws(PluginError) {
        var pause = RetryPause(shortest: options.shortestRetry, longest: options.longestRetry)
        while !isStopping {
            do throws(PluginError) {
                return try source.connect(within: limit)
            } catch {
                if source.end != nil { throw error }
                board.set(.failing(reason: error.description))
                wait(pause.take(), after: error.description, while: { source.end == nil })
            }
        }
    }

    /// Waits until the positions are complete: what an earlier process offered is durable.
    /// - Returns: false: the source is to stop.
    private func waitUntilAllIsDurable(_ source: SourceProcess) throws(PluginError) -> Bool {
        let end = control.appendedEnd
        control.await(end: end)
        while durableEnd() < end {
            if isStopping { return false }
            if let reason = source.end { throw PluginError(.failed, reason) }
            setWaiting("the events before are not durable yet")
            control.bell.wait(until: clock.now() + Self.patience)
        }
        setWaiting(nil)
        return !isStopping
    }

    /// Appends offers and reports what is stored, until the source is to stop.
    /// - Throws: the process has ended, or must.
    private func serve(_ source: SourceProcess, _ receiver: SourceReceiver) throws(PluginError) {
        while true {
            if let reason = source.end { throw PluginError(.failed, reason) }
            if let reason = receiver.failure { throw PluginError(.failed, "the plugin gave up: \(reason)") }
            let reported = try report(source, receiver)
            if isStopping { return }
            let mayContinue = try appendOffers(from: receiver, source.process.id)
            control.await(end: appended.nextEnd)
            if reported || mayContinue || (appended.nextEnd.map { $0 <= durableEnd() } ?? false) { continue }
            source.process.renewBudget(clock.now())
            // All offers may be in the journal's queue: then none waits here, and still the source does not go on.
            if isStuck { setWaiting("the last events are not stored yet: the journal is full, or its disk is slow") }
            control.bell.wait(until: nextWake)
        }
    }

    /// Ends the plugin's work: what was appended becomes durable and is reported.
    private func finish(_ source: SourceProcess, _ receiver: SourceReceiver) throws(PluginError) {
        try source.stop(within: limit)
        receiver.permitOffers(false)
        // What the journal does not take at once, the plugin's sender still has.
        while try appendOffers(from: receiver, source.process.id) {}
        while let end = appended.nextEnd {
            control.await(end: end)
            if try report(source, receiver) { continue }
            if let reason = source.end { throw PluginError(.failed, reason) }
            control.bell.wait(until: clock.now() + Self.patience)
        }
        try source.destroy(within: limit)
    }

    /// Until when the worker may sleep; nil: until something happens.
    private var nextWake: Instant? {
        var wakes: [Instant] = []
        if let nextAttempt { wakes.append(nextAttempt) }
        if !appended.isEmpty { wakes.append(clock.now() + Self.patience) }
        if options.limits.processors != nil { wakes.append(clock.now() + .seconds(2)) }
        return wakes.min()
    }

    // MARK: Offers

    /// - Returns: whether an offer was reported.
    private func report(_ source: SourceProcess, _ receiver: SourceReceiver) throws(PluginError) -> Bool {
        let stored = appended.take(durableEnd: durableEnd())
        guard !stored.isEmpty else { return false }
        oldestSince = appended.isEmpty ? nil : clock.now()
        if scanned == nil { setWaiting(nil) }
        receiver.release(stored.reduce(0) { $0 + $1.cost })
        board.store(stored.map(\.lane))
        try source.report(stored, within: limit)
        return true
    }

    /// Appends offers, in order.
    /// - Returns: whether the journal takes more, and there may be more.
    /// - Throws: an offer has come too late. A new process begins where the journal's positions are.
    private func appendOffers(from receiver: SourceReceiver, _ process: Int32) throws(PluginError) -> Bool {
        for _ in 0..<Self.turn {
            if scanned == nil {
                guard let offer = receiver.takeOffer() else { return false }
                admission.scan(offer)
                scanned = offer
            } else if let nextAttempt, !control.journalHadRoom, clock.now() < nextAttempt {
                return false
            }
            guard let offer = scanned else { return false }
            if receiver.hasExpired(offer.lane.lane, now: clock.now()) {
                throw PluginError(
                    .failed, "an offer was not stored in time, and another host may read \(offer.lane.lane) by now")
            }
            let hasWaited = nextAttempt.map { clock.now() >= $0 } ?? false
            control.forgetRoom()
            if let age = admission.age { board.note(age: age, of: offer.lane.lane, at: clock.now()) }
            switch admission.append(from: process) {
            case .queued(let end):
                control.noteAppended(end)
                if appended.isEmpty { oldestSince = clock.now() }
                appended.append(
                    AppendedOffer(
                        token: offer.token, cost: offer.cost, lane: offer.lane, refusals: admission.refusals(),
                        end: end))
                admission.forget()
                scanned = nil
                nextAttempt = nil
                refusalPause.reset()
                if !isStuck { setWaiting(nil) }
            case .busy:
                if hasWaited { setWaiting("the journal has no room, or its disk is slow") }
                nextAttempt = clock.now() + Self.patience
                return false
            case .refused(let refusal):
                nextAttempt = clock.now() + refusalPause.take()
                setWaiting(refusal.detail)
                return false
            }
        }
        return true
    }

    /// Whether the journal has stored nothing for long, although offers were appended.
    private var isStuck: Bool { oldestSince.map { clock.now() - $0 >= Self.slowness } ?? false }

    private func setWaiting(_ reason: String?) {
        if board.set(waiting: reason) { telemetry.emit(PluginSourceWaits(source: options.name, reason: reason)) }
    }
}
