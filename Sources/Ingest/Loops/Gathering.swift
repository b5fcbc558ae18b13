/// Decides whether a thread that a client has woken waits a moment for others, so that one commit takes what arrives
/// together and one wake serves all of them. Pure.
///
/// It pays only where others come. A client that sends alone and waits for each answer would only wait longer. So each
/// wait in which nothing came doubles the number of wakes after which the next is tried.
struct Gathering {
    static let mostSkips = 255

    private var skips = 0
    private var left = 0

    /// Whether to wait after this wake; `note` follows if so.
    mutating func isDue() -> Bool {
        if left == 0 { return true }
        left -= 1
        return false
    }

    /// - Parameter cameMore: whether anything arrived during the wait.
    mutating func note(cameMore: Bool) {
        skips = cameMore ? 0 : min(2 * skips + 1, Self.mostSkips)
        left = skips
    }
}
