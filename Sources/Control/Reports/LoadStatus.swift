import Platform

extension StatusReport {
    /// What the daemon uses of the machine's processors, averaged over the last seconds.
    package struct Load: Codable, Sendable, Equatable {
        /// How many the daemon may use. A quota of its cgroup (`CPUQuota=`) counts: 0.5 is half of one.
        package var processors: Double
        /// How many it uses: 1.5 are one and a half.
        package var used: Double
        /// The thread that uses most, and how much of one processor.
        package var busiestThread: String
        package var busiestUsed: Double

        package init(processors: Double, used: Double, busiestThread: String, busiestUsed: Double) {
            self.processors = processors
            self.used = used
            self.busiestThread = busiestThread
            self.busiestUsed = busiestUsed
        }

        /// From this share of its time on, a thread, or all processors, can hardly do more.
        private static let full = 0.9

        /// What keeps the daemon from more; nil: neither the processors nor a thread.
        package var limit: String? {
            let thread = "the thread \(busiestThread.withControlCharactersEscaped)"
            let share = "\(Int((busiestUsed * 100).rounded().clamped)) % of a processor"
            if used >= Self.full * processors {
                let all = Self.number(processors)
                let unit = all == "1" ? "processor is" : "processors are"
                let processors = "\(Self.number(used)) of \(all) \(unit) in use"
                return "\(processors), most by \(thread) (\(share))"
            }
            return busiestUsed >= Self.full ? "\(thread) uses \(share)" : nil
        }

        /// At most two decimals, none for a whole number.
        private static func number(_ value: Double) -> String {
            let rounded = ((value.clamped * 100).rounded() / 100).clamped
            return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
        }

        enum CodingKeys: String, CodingKey {
            case processors, used
            case busiestThread = "busiest_thread"
            case busiestUsed = "busiest_used"
        }
    }
}
