import Events
import PenstockPluginKit

extension Event {
    /// The kind's name, such as `track`; a kind that is newer than the kit is `unknown`.
    package var kindName: String { kind.map { "\($0)" } ?? "unknown" }

    /// The payload without a copy.
    /// - Parameter body: must not settle the batch.
    package func withPayload<Value, Failure>(_ body: (Span<UInt8>) throws(Failure) -> Value) throws(Failure) -> Value {
        try unsafe withUnsafePayload { bytes throws(Failure) in
            try body(unsafe bytes.bindMemory(to: UInt8.self).span)
        }
    }
}

extension Event {
    /// The message id without JSON escapes; empty if the event has none.
    package func appendMessageID(to output: inout [UInt8]) {
        unsafe withUnsafeMessageID { bytes in
            let written = unsafe bytes.bindMemory(to: UInt8.self).span
            if !JSONText.unescape(written, into: &output) { output.append(contentsOf: written) }
        }
    }
}
