import PenstockPluginKit
import Synchronization

/// What keeps a source from working: the connection's problem, or one of a lane. The operator sees one of them. Any
/// thread.
final class NATSProblems: Sendable {
    private let host: SourceHost
    private let problems = Mutex<[String: String]>([:])

    init(_ host: SourceHost) { self.host = host }

    /// - Parameters:
    ///   - lane: nil: the connection.
    ///   - problem: nil: it works.
    func set(_ lane: NATSLane?, _ problem: String?) {
        problems.withLock { problems in
            let before = problems
            problems[lane?.name ?? ""] = problem
            guard problems != before else { return }
            let first = problems.min { $0.key < $1.key }
            host.problem(first.map { $0.key.isEmpty ? $0.value : "\($0.key): \($0.value)" })
        }
    }

    /// The connection is the problem of all lanes.
    func clearLanes() {
        problems.withLock { problems in problems = problems.filter(\.key.isEmpty) }
    }
}
