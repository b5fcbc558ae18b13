import Platform
import Synchronization
import Telemetry

/// Reserves file descriptors for uses that must not fail: the control socket, journal segments, and the files and
/// connections of destinations. Clients are accepted only while more descriptors than the reserve are free. Any thread.
package final class DescriptorReserve: Sendable {
    /// How long accepting pauses before the next check.
    static let pause = Duration.milliseconds(50)
    /// How long after the last pause `problem` still reports a shortage.
    private static let memory = Duration.seconds(60)

    /// `limit`: how many descriptors the process may open. `reserve`: how many of them clients must leave free.
    package let limit: Int
    package let reserve: Int
    private let clients = Atomic<Int>(0)
    /// Descriptors that do not belong to clients, as of the last count.
    private let others: Atomic<Int>
    private let lastShort = Atomic<Int64>(.min)
    private let count: @Sendable () -> Int?
    private let telemetry: Telemetry?
    private let clock: any Clock

    /// - Parameter count: counts the process's open descriptors.
    package init(
        limit: Int?, count: @escaping @Sendable () -> Int? = { OpenFileLimit.openFiles }, telemetry: Telemetry?,
        clock: any Clock
    ) {
        self.limit = limit ?? .max
        // A quarter of a small limit; at most 1,024 of a large one.
        reserve = min(self.limit / 4, 1024)
        self.count = count
        self.telemetry = telemetry
        self.clock = clock
        others = Atomic(count() ?? 0)
    }

    func enter() { clients.add(1, ordering: .relaxed) }
    func leave() { clients.subtract(1, ordering: .relaxed) }

    /// Whether one more client would leave the reserve intact.
    var hasRoom: Bool {
        let open = clients.load(ordering: .relaxed).addingReportingOverflow(others.load(ordering: .relaxed))
            .partialValue
        return open < limit - reserve
    }

    /// Counts the process's descriptors again, but only when enough are open to matter, because counting many takes
    /// time. Called about once a second.
    func measure() {
        let clients = clients.load(ordering: .relaxed)
        guard clients + others.load(ordering: .relaxed) >= (limit - reserve) / 4, let all = count() else { return }
        others.store(max(0, all - clients), ordering: .relaxed)
    }

    /// Records that accepting pauses.
    func noteShortage(_ error: SystemError?) {
        let now = clock.now().nanoseconds
        lastShort.store(now, ordering: .relaxed)
        telemetry?.emit(DescriptorsShort.self, .warning, about: "") {
            DescriptorsShort(detail: error.map { "\($0)" } ?? sentence)
        }
    }

    private var sentence: String {
        """
        \(clients.load(ordering: .relaxed)) of \(limit) descriptors (RLIMIT_NOFILE) are used by clients, \
        \(others.load(ordering: .relaxed)) by others, and \(reserve) are reserved for files and the control socket
        """
    }

    /// Why clients wait to be accepted, now or within the last minute; nil if they do not.
    package var problem: String? {
        let last = lastShort.load(ordering: .relaxed)
        guard last != .min, clock.now().nanoseconds - last < Self.memory.inNanoseconds else { return nil }
        return "clients wait to be accepted: \(sentence)"
    }
}
