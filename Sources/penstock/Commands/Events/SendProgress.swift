import Control
import Platform

/// The progress line of `penstock send`: events, rate, size, and with acknowledgements how many events are on disk and
/// how many were refused.
struct SendProgress {
    /// The lines and bytes that the daemon has taken.
    var lines: UInt64 = 0
    var bytes = 0

    private let acknowledgements: Bool
    private let clock = SystemClock()
    private var bar: ProgressBar
    private var speed = RecentRate()

    /// - Parameter total: the size of the input in bytes; nil: unknown.
    init(total: Int?, acknowledgements: Bool) {
        bar = ProgressBar("", total: total)
        self.acknowledgements = acknowledgements
    }

    mutating func show(_ session: EventSession) {
        speed.add(lines, at: clock.now())
        let (lines, bytes, rate, acknowledgements) = (lines, bytes, speed.perSecond, acknowledgements)
        bar.show(done: bytes, note: Self.note(lines, bytes, rate, acknowledgements ? session : nil))
    }

    mutating func clear() { bar.clear() }

    /// - Parameter session: nil: it has no acknowledgements.
    private static func note(_ lines: UInt64, _ bytes: Int, _ rate: Double?, _ session: EventSession?) -> String {
        var parts = [Readable.counted(lines, "event")]
        if let rate { parts.append("\(Readable.grouped(UInt64(rate.rounded().clamped)))/s") }
        parts.append(Readable.size(UInt64(clamping: bytes)))
        if let session {
            let refused = session.refusedLines
            parts.append("\(Readable.grouped(session.settledLines - min(refused, session.settledLines))) on disk")
            if refused > 0 { parts.append("\(Readable.grouped(refused)) refused") }
        }
        return parts.joined(separator: ", ")
    }
}
