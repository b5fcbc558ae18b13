import Events
import PenstockPluginKit

extension Event {
    /// Appends the message id without JSON escapes; nothing if the event has none.
    package func appendMessageID(to output: inout [UInt8]) {
        unsafe withUnsafeMessageID { bytes in
            let written = unsafe bytes.bindMemory(to: UInt8.self).span
            if !JSONText.unescape(written, into: &output) { output.append(contentsOf: written) }
        }
    }

    /// The message id without JSON escapes; nil if the event has none.
    package var decodedMessageID: String? {
        var id: [UInt8] = []
        appendMessageID(to: &id)
        return id.isEmpty ? nil : String(decoding: id, as: UTF8.self)
    }
}
