import Control
import Platform

/// The reasons why the daemon is degraded, most urgent first. Without a reason, it is healthy. Pure.
///
/// A reason is one clause without a full stop, so that it fits on its own line and in systemd's STATUS=. It names
/// the problem with its value and place, and the command or key that helps, if there is one. Text from outside (names,
/// errors of services) has its control characters escaped.
struct DegradedReasons {
    var journal: StatusReport.Journal
    var destinations: [String: StatusReport.Destination]
    var sources: [String: StatusReport.Source] = [:]
    /// Threads that make no progress, and since when.
    var stuckThreads: [String: Duration] = [:]
    /// The last refused reload, if the configuration files still differ from the running configuration.
    var refusedReload: StatusReport.RefusedReload?
    /// Destinations that are up and whose lag grows.
    var fallingBehind: [String: LagTrend.Growth] = [:]
    /// The number of dead letters of each destination within `RecentGrowthWindow.length`.
    var recentDeadLetters: [String: UInt64] = [:]
    /// The number of events that each source has refused within `RecentGrowthWindow.length`, by the reason's name. Only
    /// reasons in `limits` count, because the others are errors of the sender, who is told; for a plugin, all count.
    var recentRefusals: [String: [String: UInt64]] = [:]

    /// The number of clients that each source has disconnected or turned away within `RecentGrowthWindow.length`, by
    /// the limit's key.
    var recentLimits: [String: [String: UInt64]] = [:]
    /// The number of positions lost to damage that nobody has dealt with.
    var damage: UInt64 = 0
    /// Why clients wait to be accepted; nil if none waits.
    var descriptors: String?

    /// Refusal reasons that are limits of the daemon, not errors in the events.
    static let limits: Set<String> = ["rate_limited", "journal_full"]

    var list: [String] { ofJournal + ofDamage + ofDaemon + ofSources + ofClients + ofDestinations }

    private var ofJournal: [String] {
        switch journal.state {
        case .ok: []
        case .full: [journal.lastError?.withControlCharactersEscaped ?? "journal full"]
        case .failed: ["journal cannot be written" + because(journal.lastError)]
        }
    }

    private var ofDamage: [String] {
        guard damage > 0 else { return [] }
        return [
            "the journal lost \(counted(damage, "position")) to damage: see penstock journal verify, check the disk, "
                + "then delete the copies in quarantine/"
        ]
    }

    private var ofDaemon: [String] {
        let stuck = sorted(stuckThreads) { name, duration in
            ["no progress for \(duration.components.seconds) s in thread \(name)"]
        }
        let refused = refusedReload.map { reload in
            "a reload was refused at \(reload.time), and the files differ from the running configuration"
                + because(reload.firstError)
        }
        return stuck + (refused.map { [$0] } ?? [])
    }

    private var ofSources: [String] {
        let states = sorted(sources) { name, source in
            switch source.state {
            case nil, .up, .starting: []
            case .retrying, .held, .failing, .stopped:
                ["\(name) \(source.state?.rawValue ?? "")" + because(source.lastError)]
            }
        }
        return states + ofRefusals
    }

    private var ofRefusals: [String] {
        sorted(recentRefusals) { name, reasons in
            reasons.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { reason, count in
                "\(name) refused \(counted(count, "event")) in the last \(Self.minutes) min: "
                    + "\(reason.withControlCharactersEscaped)"
            }
        }
    }

    private var ofClients: [String] {
        let limits = sorted(recentLimits) { name, limits in
            limits.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { limit, count in
                "\(name) closed or turned away \(counted(count, "client")) in the last \(Self.minutes) min: "
                    + "\(limit.withControlCharactersEscaped)"
            }
        }
        return limits + (descriptors.map { [$0] } ?? [])
    }

    private var ofDestinations: [String] {
        let states = sorted(destinations) { name, destination in
            guard destination.state != .up else { return [] }
            var reason = "\(name) \(destination.state.rawValue)" + because(destination.lastError)
            if destination.lagSeconds >= 1 { reason += ", \(Readable.duration(destination.lagSeconds)) behind" }
            return [reason]
        }
        let behind = sorted(fallingBehind) { name, lag in
            [
                "\(name) falls behind: \(Readable.duration(lag.seconds)), "
                    + "and \(Readable.duration(lag.aMinuteAgo)) a minute ago"
            ]
        }
        let letters = sorted(recentDeadLetters) { name, count in
            // Those that were dropped, or delivered in a retry, are dealt with.
            let count = min(count, destinations[name]?.deadLetters?.letters ?? count)
            guard count > 0 else { return [] }
            return [
                "\(counted(count, "dead letter")) for \(name) in the last \(Self.minutes) min: "
                    + "penstock dead-letters list \(name)"
            ]
        }
        return states + behind + letters
    }

    private static let minutes = RecentGrowthWindow.length.components.seconds / 60

    /// - Parameter reasons: called with each name, its control characters escaped, and its value.
    private func sorted<Value>(_ values: [String: Value], _ reasons: (String, Value) -> [String]) -> [String] {
        values.sorted { $0.key < $1.key }.flatMap { reasons($0.key.withControlCharactersEscaped, $0.value) }
    }

    private func because(_ error: String?) -> String {
        guard let error, !error.isEmpty else { return "" }
        return ": " + error.withControlCharactersEscaped
    }

    private func counted(_ count: UInt64, _ noun: String) -> String { Readable.counted(count, noun) }
}
