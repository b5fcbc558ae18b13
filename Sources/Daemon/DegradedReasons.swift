import Control
import Platform

/// Why the daemon is degraded: one clause for each reason, most urgent first; none: it is healthy. Pure.
///
/// A reason is written so that it can stand on a line of its own and in STATUS=: what is wrong, with its value
/// and place, and the command or key that helps where there is one; no full stop. Text from outside
/// (names, errors of services) has its control characters escaped.
struct DegradedReasons {
    var journal: StatusReport.Journal
    var destinations: [String: StatusReport.Destination]
    /// Threads that make no progress, and for how long.
    var stuckThreads: [String: Duration] = [:]
    /// The last refused reload, if the files still differ from what runs.
    var refusedReload: StatusReport.RefusedReload?
    /// Destinations that are up and fall behind.
    var fallingBehind: [String: LagTrend.Growth] = [:]
    /// Letters that each destination has stored within `RecentGrowthWindow.length`.
    var recentDeadLetters: [String: UInt64] = [:]
    /// Events that each source has refused within `RecentGrowthWindow.length`, by the reason's name: only reasons in
    /// `limits`, where the sender's events are sound.
    var recentRefusals: [String: [String: UInt64]] = [:]

    /// Clients of each source that a limit has closed or turned away within `RecentGrowthWindow.length`, by the limit's key.
    var recentLimits: [String: [String: UInt64]] = [:]
    /// Why clients wait to be accepted, if they do.
    var descriptors: String?

    /// Reasons of refusals that are the daemon's limits, not the events' fault.
    static let limits: Set<String> = ["rate_limited", "journal_full"]

    var list: [String] { ofJournal + ofDaemon + ofSources + ofClients + ofDestinations }

    private var ofJournal: [String] {
        switch journal.state {
        case .ok: []
        case .full: ["journal full" + because(journal.lastError)]
        case .failed: ["journal cannot be written" + because(journal.lastError)]
        }
    }

    private var ofDaemon: [String] {
        let stuck = sorted(stuckThreads) { name, duration in ["no progress for \(duration.components.seconds) s in thread \(name)"] }
        let refused = refusedReload.map { reload in
            "a reload was refused at \(reload.time), and the files differ from what runs" + because(reload.firstError)
        }
        return stuck + (refused.map { [$0] } ?? [])
    }

    private var ofSources: [String] {
        sorted(recentRefusals) { name, reasons in
            reasons.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { reason, count in
                "\(name) refused \(counted(count, "event")) in the last \(Self.minutes) min: \(reason.withControlCharactersEscaped)"
            }
        }
    }

    private var ofClients: [String] {
        let limits = sorted(recentLimits) { name, limits in
            limits.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { limit, count in
                "\(name) closed or turned away \(counted(count, "client")) in the last \(Self.minutes) min: \(limit.withControlCharactersEscaped)"
            }
        }
        return limits + (descriptors.map { [$0] } ?? [])
    }

    private var ofDestinations: [String] {
        let states = sorted(destinations) { name, destination in
            guard destination.state != .up else { return [] }
            var reason = "\(name) \(destination.state.rawValue)" + because(destination.lastError)
            if destination.lagSeconds >= 1 { reason += ", \(StatusText.duration(destination.lagSeconds)) behind" }
            return [reason]
        }
        let behind = sorted(fallingBehind) { name, lag in
            ["\(name) falls behind: \(StatusText.duration(lag.seconds)), and \(StatusText.duration(lag.aMinuteAgo)) a minute ago"]
        }
        let letters = sorted(recentDeadLetters) { name, count in
            guard count > 0 else { return [] }
            return ["\(counted(count, "dead letter")) for \(name) in the last \(Self.minutes) min: penstock dead-letters list \(name)"]
        }
        return states + behind + letters
    }

    private static let minutes = RecentGrowthWindow.length.components.seconds / 60

    /// - Parameter reasons: given the name, fit to be shown, and its value.
    private func sorted<Value>(_ values: [String: Value], _ reasons: (String, Value) -> [String]) -> [String] {
        values.sorted { $0.key < $1.key }.flatMap { reasons($0.key.withControlCharactersEscaped, $0.value) }
    }

    private func because(_ error: String?) -> String {
        guard let error, !error.isEmpty else { return "" }
        return ": " + error.withControlCharactersEscaped
    }

    private func counted(_ count: UInt64, _ noun: String) -> String { StatusText.counted(count, noun) }
}
