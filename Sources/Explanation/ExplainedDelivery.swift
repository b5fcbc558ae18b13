import Assembly
import DaemonConfiguration
import Delivery
import Destinations
import Events

/// A preview of a batch's delivery.
package enum ExplainedDelivery: Sendable {
    /// Lines that are appended to files. CSV files begin with the header.
    case files([FileBatchPreview])
    case requests([HTTPRequestPreview])
    /// Rows for a plugin with these settings (JSON, with the names of secrets in place of their values).
    case plugin(name: String, settings: String, rows: [Row])
    /// There is no preview, for this reason.
    case impossible(reason: String)

    /// An event as the plugin receives it.
    package struct Row: Sendable, Equatable {
        package var position: UInt64
        package var kind: EventKind
        package var messageID: String
        package var json: [UInt8]
    }

    init(_ batch: OutboundBatch, to destination: Configuration.Destination) {
        do {
            switch destination.kind {
            case .file(let file):
                self = .files(try FileDestination.preview(of: batch, FileDestinationOptions(file)))
            case .http(let http):
                self = .requests(
                    try HTTPRequestPreview.requests(
                        for: batch, HTTPOptions(http, inFlight: destination.inFlight, of: destination.name),
                        at: batch.events.first?.receivedAt ?? 0
                    ).requests)
            case .plugin(let plugin):
                self = .plugin(
                    name: plugin.plugin, settings: plugin.settingsText.description,
                    rows: batch.events.map { event in
                        let id = JSONText.string(batch.payload.span.extracting(event.messageID)) ?? ""
                        return Row(
                            position: event.position, kind: event.kind, messageID: id,
                            json: Array(batch.payload[event.payload]))
                    })
            }
        } catch {
            self = .impossible(reason: "\(error)")
        }
    }
}
