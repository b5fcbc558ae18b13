import Platform

extension StatusReport.Source {
    /// A source's memory of message ids.
    package struct MessageIDs: Codable, Sendable, Equatable {
        /// `dedupe.window`.
        package var windowSeconds: Double
        /// The window in effect. Shorter than `windowSeconds` while the memory is full.
        package var effectiveWindowSeconds: Double
        /// How many ids are in memory, and how many fit.
        package var ids: UInt64
        package var capacity: UInt64
        /// Ids that were forgotten before the window was over, because the memory was full.
        package var forgottenEarly: UInt64

        package init(
            windowSeconds: Double, effectiveWindowSeconds: Double, ids: UInt64, capacity: UInt64, forgottenEarly: UInt64
        ) {
            self.windowSeconds = windowSeconds
            self.effectiveWindowSeconds = effectiveWindowSeconds
            self.ids = ids
            self.capacity = capacity
            self.forgottenEarly = forgottenEarly
        }

        enum CodingKeys: String, CodingKey {
            case ids, capacity
            case windowSeconds = "window_seconds"
            case effectiveWindowSeconds = "effective_window_seconds"
            case forgottenEarly = "forgotten_early"
        }
    }

    /// One line for a person; empty if there is nothing to report.
    func duplicatesLine(of name: String) -> String {
        guard dedupe != nil || duplicates > 0 else { return "" }
        var line = "\(name.withControlCharactersEscaped): \(Readable.counted(duplicates, "duplicate"))"
        if let dedupe {
            line += ", remembers \(Readable.counted(dedupe.ids, "message id"))"
            line += " of the last \(Readable.duration(dedupe.effectiveWindowSeconds))"
            if dedupe.effectiveWindowSeconds < dedupe.windowSeconds {
                line +=
                    " instead of \(Readable.duration(dedupe.windowSeconds)): "
                    + "the memory is full, raise dedupe.max_memory"
            }
        }
        return line + "\n"
    }
}
