import CPluginChannel
import PluginHosting

/// The outcomes of a batch, as a plugin's process sent them.
struct PluginCompletion: Sendable {
    /// As the plugin passed them.
    let count: UInt32
    let stride: UInt32
    /// Nil: the array is missing, or its stride is too small.
    let outcomes: [plugin_outcome]?
    /// The reasons, one after the other.
    let reasons: [UInt8]

    /// - Returns: nil if the bytes are not what the protocol allows.
    init?(_ body: [UInt8]) {
        let head = MemoryLayout<plugin_complete>.size
        let size = MemoryLayout<plugin_outcome>.size
        guard body.count >= head else { return nil }
        let complete = PluginProcess.value(of: body, at: 0, as: plugin_complete.self)
        count = complete.count
        stride = complete.stride
        guard complete.given != .max else {
            guard body.count == head else { return nil }
            outcomes = nil
            reasons = []
            return
        }
        let given = Int(complete.given)
        guard stride >= PLUGIN_OUTCOME_SIZE_1_0, given <= (body.count - head) / size else { return nil }
        var outcomes: [plugin_outcome] = []
        outcomes.reserveCapacity(given)
        var texts = 0
        for index in 0..<given {
            let outcome = PluginProcess.value(of: body, at: head + index * size, as: plugin_outcome.self)
            guard outcome.reason_length <= PLUGIN_CHANNEL_REASON_LIMIT else { return nil }
            texts += Int(outcome.reason_length)
            outcomes.append(outcome)
        }
        guard texts == body.count - head - given * size else { return nil }
        self.outcomes = outcomes
        reasons = Array(body[(head + given * size)...])
    }
}
