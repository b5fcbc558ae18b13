import Assembly
import DaemonConfiguration
import ConfigurationSyntax
import Control
import Events
import Explanation
import Journal
import Platform
import Routing
import Synchronization

/// Compares the running configuration with the files on disk over the journal's newest events, as `penstock diff` does:
/// `POST /diff`. Nothing is sent and nothing is changed.
///
/// One comparison at a time, on threads of its own with the lowest priority. It is bounded in events, time and memory,
/// and the report states which events were compared. It ends early when the daemon stops, when a reload is applied, and
/// when the client disconnects. Any thread.
final class DiffRequests: Sendable {
    struct Limits: Sendable {
        /// The most positions that are compared: the newest ones. As many before them are read for transforms that
        /// remember earlier events.
        var events: UInt64 = 200_000
        /// The time of a comparison. It ends with the piece of the journal that it has begun.
        var time = Duration.seconds(30)
        /// How long a client waits. With the lowest priority, a busy machine may leave no time to a comparison.
        var patience = Duration.seconds(60)
        /// The most bytes of events and outputs in all samples.
        var sampleBytes = 4 << 20
    }

    let queue = DiskRequests(name: "diff", limit: 1)
    private let running: RunningConfiguration
    private let journal: Journal
    private let directory: String
    private let clock: any Clock
    private let limits: Limits
    /// Calls the closure after a time.
    private let later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    private let isBusy = Atomic(false)

    /// - Parameter directory: the journal's directory.
    init(
        running: RunningConfiguration, journal: Journal, directory: String, clock: any Clock, limits: Limits = .init(),
        later: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    ) {
        self.running = running
        self.journal = journal
        self.directory = directory
        self.clock = clock
        self.limits = limits
        self.later = later
    }

    func add(_ order: DiffOrder, _ reply: ControlReply) {
        guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else {
            return reply.fail(409, "another comparison is in progress: try again when it is done")
        }
        queue.add(reply) { [self] interruption in
            // The thread does nothing else.
            BackgroundPriority.enter()
            let answer = Result { try compare(order) { !interruption.isRaised && reply.isAwaited } }
            // Before the answer, so that its receiver can ask again at once.
            isBusy.store(false, ordering: .releasing)
            switch answer {
            case .success(let report): reply.respond(report)
            case .failure(let refusal as Refusal): reply.fail(refusal.status, refusal.message)
            case .failure(let error): reply.fail(500, "\(error)")
            }
        }
        later(limits.patience) { [weak reply, limits] in
            reply?.fail(
                503,
                "the comparison takes longer than \(Readable.duration(limits.patience)), because the machine is busy: "
                    + "try again later")
        }
    }

    private struct Refusal: Error {
        var status: Int
        var message: String
    }

    /// - Parameter isWanted: false: nobody waits for the report.
    private func compare(_ order: DiffOrder, while isWanted: @escaping @Sendable () -> Bool) throws -> DiffReport {
        let deadline = clock.now() + limits.time
        var options = try options(order)
        let old = try running.read()
        let loaded = running.readDisk()
        guard let new = loaded.configuration else { return DiffReport(errors: loaded.errors.map(\.description)) }

        let end = journal.durableEnd
        let kept = min(journal.firstPosition, end)
        let asked = try max(kept, order.from.map { try journal.position(at: $0) } ?? kept)
        let first = max(asked, end - min(end, limits.events))
        options.range = DumpRange(from: .position(first), until: .position(end))
        options.earliest = .position(first - min(first, limits.events))
        options.continues = { [clock, running] in
            isWanted() && clock.now() < deadline && running.isCurrent(old)
        }
        let comparison = try ConfigurationComparison(from: old.configuration, to: new, options).run(
            StoredEvents(directory: directory, disk: SystemDisk()))
        guard running.isCurrent(old) else {
            throw Refusal(status: 409, message: "a reload has changed the running configuration: compare again")
        }
        return DiffReport(
            comparison: comparison, older: first - asked,
            limits: .init(events: limits.events, seconds: limits.time.components.seconds))
    }

    private func options(_ order: DiffOrder) throws(Refusal) -> ConfigurationComparison.Options {
        var options = ConfigurationComparison.Options()
        if let samples = order.samples {
            let numbers = DiffOrder.sampleNumbers
            guard numbers.contains(samples) else {
                throw Refusal(
                    status: 400,
                    message: "samples is \(samples); it must be from \(numbers.lowerBound) to \(numbers.upperBound)")
            }
            options.samples = samples
        }
        do {
            options.filter = try order.condition.map { try Filter(parsing: $0) }
        } catch {
            throw Refusal(status: 400, message: "where: \(error)")
        }
        options.sampleBytes = limits.sampleBytes
        options.host = HostName.current
        options.userNames = UserNameCache.shared.lookUp
        return options
    }
}

/// The answer to `POST /diff`.
struct DiffReport: Codable {
    struct Limits: Codable {
        var events: UInt64
        var seconds: Int64
    }

    /// The errors of the files on disk, each formatted for a person. With errors, nothing was compared, and a reload
    /// would be refused.
    var errors: [String] = []
    var comparison: ComparisonReport?
    /// The number of positions that were asked for, and are older than the newest `limits.events`.
    var older: UInt64?
    /// What bounds a comparison.
    var limits: Limits?
}
