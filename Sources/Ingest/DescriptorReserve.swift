import Platform
import Synchronization
import Telemetry

/// Keeps descriptors free for what must not fail for want of one: the control socket, the journal's segments, files and
/// connections of destinations. Clients are accepted only while more than the reserve are free. Any thread.
package final class DescriptorReserve: Sendable {
    /// How long accepting pauses before it looks again.
    static let pause = Duration.milliseconds(50)
    /// How long a line about it is not repeated.
    private static let interval = Duration.seconds(10)
    /// How long after the last pause the process still counts as short.
    private static let memory = Duration.seconds(60)

    /// Descriptors that the process may have, and those that clients leave to others.
    package let limit: Int
    package let reserve: Int
    private let clients = Atomic<Int>(0)
    /// The process's other descriptors, as last counted.
    private let others: Atomic<Int>
    private let lastLine = Atomic<Int64>(.min)
    private let lastShort = Atomic<Int64>(.min)
    private let count: @Sendable () -> Int?
    private let telemetry: Telemetry?
    private let clock: any Clock

    /// - Parameter count: the process's open descriptors.
    package init(
        limit: Int?, count: @escaping @Sendable () -> Int? = { OpenFileLimit.openFiles }, telemetry: Telemetry?, clock: any Clock
    ) {
        self.limit = limit ?? .max
        // A quarter of a small limit, as much as a thousand of a large one.
        reserve = min(self.limit / 4, 1024)
        self.count = count
        self.telemetry = telemetry
        self.clock = clock
        others = Atomic(count() ?? 0)
    }

    func enter() { clients.add(1, ordering: .relaxed) }
    func leave() { clients.subtract(1, ordering: .relaxed) }

    /// Whether one more client leaves the reserve as it is.
    var hasRoom: Bool {
        let open = clients.load(ordering: .relaxed).addingReportingOverflow(others.load(ordering: .relaxed)).partialValue
        return open < limit - reserve
    }

    /// Counts the process's descriptors again, where it may matter: counting many takes time. About once a second.
    func measure() {
        let clients = clients.load(ordering: .relaxed)
        guard clients + others.load(ordering: .relaxed) >= (limit - reserve) / 4, let all = count() else { return }
        others.store(max(0, all - clients), ordering: .relaxed)
    }

    /// Nobody is accepted for the time. Logged once per interval.
    func noteShortage(_ error: SystemError?) {
        let now = clock.now().nanoseconds
        lastShort.store(now, ordering: .relaxed)
        let last = lastLine.load(ordering: .relaxed)
        guard last == .min || now - last >= Self.interval.inNanoseconds,
            lastLine.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
        else { return }
        telemetry?.emit(DescriptorsShort(detail: error.map { "\($0)" } ?? sentence))
    }

    private var sentence: String {
        """
        of \(limit) descriptors (RLIMIT_NOFILE) clients have \(clients.load(ordering: .relaxed)), others \
        \(others.load(ordering: .relaxed)), and the last \(reserve) are kept for files and for the control socket
        """
    }

    /// Why clients are kept waiting, or were within the last minute; nil: they are not.
    package var problem: String? {
        let last = lastShort.load(ordering: .relaxed)
        guard last != .min, clock.now().nanoseconds - last < Self.memory.inNanoseconds else { return nil }
        return "clients wait to be accepted: \(sentence)"
    }
}
