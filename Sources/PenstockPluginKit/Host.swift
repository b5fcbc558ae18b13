import CPenstockPlugin

/// The host's services for one sink. Any thread. Positions refer to `journal`: in another journal, the same position is
/// another event.
@safe public final class Host: HostServices, @unchecked Sendable {
    /// The destination's name in the configuration.
    public var destination: String { name }

    /// After `SinkBusy`: the sink can take a batch again.
    public func ready() { unsafe table.pointee.ready?(table) }

    func complete(_ token: UInt64, _ outcomes: [Outcome]) {
        // The reasons, one after the other, each ended by a NUL. The host copies them.
        var reasons: [UInt8] = []
        var starts: [Int?] = []
        var list = unsafe outcomes.map { outcome in
            let reason = outcome.reason
            starts.append(reason == nil ? nil : reasons.count)
            if let reason {
                reasons += reason.utf8
                reasons.append(0)
            }
            return unsafe outcome.raw
        }
        unsafe reasons.withUnsafeBytes { reasons in
            for (index, start) in starts.enumerated() {
                guard let start, let base = reasons.baseAddress else { continue }
                unsafe list[index].reason = UnsafePointer((base + start).assumingMemoryBound(to: CChar.self))
            }
            unsafe complete(token, list)
        }
    }

    /// One outcome for all events of a batch.
    func complete(_ token: UInt64, _ outcome: Outcome, count: Int) {
        var raw = unsafe outcome.raw
        guard let reason = outcome.reason else { return unsafe complete(token, Array(repeating: raw, count: count)) }
        unsafe reason.withCString { text in
            unsafe raw.reason = text
            unsafe complete(token, Array(repeating: raw, count: count))
        }
    }

    private func complete(_ token: UInt64, _ list: [penstock_outcome]) {
        unsafe table.pointee.complete?(
            table, token, list, UInt32(list.count), UInt32(MemoryLayout<penstock_outcome>.stride))
    }
}

extension Outcome {
    fileprivate var reason: String? {
        switch self {
        case .delivered: nil
        case .retry(let reason, _): reason
        case .rejected(let reason): reason
        }
    }

    /// Without the reason.
    fileprivate var raw: penstock_outcome {
        var raw = unsafe penstock_outcome()
        switch self {
        case .delivered: unsafe raw.status = PENSTOCK_DELIVERED
        case .retry(_, let after):
            unsafe raw.status = PENSTOCK_RETRY
            unsafe raw.retry_after_ms = UInt32(clamping: after?.wholeMilliseconds ?? 0)
        case .rejected: unsafe raw.status = PENSTOCK_REJECTED
        }
        return unsafe raw
    }
}
