/// The receive times of delivered events, joined where consecutive events have the same one, as events of one commit
/// mostly do. So a batch costs little more than one call.
struct ReceiveRuns {
    private var receivedAt: Int64 = 0
    private var count = 0

    /// - Parameter pass: gets the receive time and the number of events of each run that has ended.
    mutating func add(_ receivedAt: Int64, _ pass: (Int64, Int) -> Void) {
        if receivedAt == self.receivedAt {
            count += 1
            return
        }
        finish(pass)
        self.receivedAt = receivedAt
        count = 1
    }

    /// Ends the last run.
    mutating func finish(_ pass: (Int64, Int) -> Void) {
        if count > 0 { pass(receivedAt, count) }
        count = 0
    }
}
