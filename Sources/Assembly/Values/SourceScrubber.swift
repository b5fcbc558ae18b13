import DaemonConfiguration
import Events
import Ingest
import Routing

/// Adapts Routing's scrubber to Ingest's protocol. One event loop only.
package final class SourceScrubber: EventScrubber {
    private let scrubber: Scrubber

    /// Nil: the source stores events unchanged.
    package init?(_ source: Configuration.Source) {
        guard !source.scrub.isEmpty else { return nil }
        scrubber = Scrubber(source.scrub.map(\.transform))
    }

    package func scrub(_ json: Span<UInt8>, _ index: EventIndex, into output: inout [UInt8]) -> String? {
        switch scrubber.scrub(json, index, into: &output) {
        case .written: nil
        case .rejected(let reason): reason
        }
    }
}
