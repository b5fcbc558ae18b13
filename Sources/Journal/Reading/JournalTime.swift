import Events

extension Journal {
    /// The receive time of the first event kept, in nanoseconds since 1970-01-01 UTC; nil if the journal is empty.
    package func firstTime() throws(JournalError) -> Int64? {
        let reader = makeReader(from: firstPosition)
        var batch = EventBatch()
        return try reader.read(into: &batch, maximumBytes: 1) ? batch.events.first?.receivedAt : nil
    }

    /// The position of the first event kept that was received at or after a time (nanoseconds since 1970-01-01 UTC), or
    /// the durable end if there is none. Usually reads at most one segment.
    package func position(at time: Int64) throws(JournalError) -> UInt64 {
        for segment in segments.all {
            let (latest, overflow) = segment.receiveTimes.latest.addingReportingOverflow(
                RecordLayout.maximumDelay * 1_000_000)
            guard overflow || latest >= time else { continue }
            let reader = makeReader(from: segment.firstPosition)
            var batch = EventBatch()
            while reader.position < segment.endPosition, try reader.read(into: &batch, maximumBytes: 1 << 20) {
                if let event = batch.events.first(where: { $0.receivedAt >= time }) { return event.position }
            }
        }
        return durableEnd
    }
}
