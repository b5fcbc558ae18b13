import Configuration
import Daemon
import Delivery
import Destinations
import Events

/// How a batch would leave the daemon.
package enum ExplainedDelivery: Sendable {
    /// Appended to files, as lines; those of CSV begin with the header.
    case files([FileForesight])
    case requests([HTTPRequestPreview])
    /// Handed to a plugin with these settings (JSON, secrets by their names).
    case plugin(name: String, settings: String, rows: [Row])
    /// It cannot be said, for this reason.
    case impossible(reason: String)

    /// An event as a plugin sees it.
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
                        for: batch, HTTPOptions(http, inFlight: destination.inFlight), at: batch.events.first?.receivedAt ?? 0
                    ).requests)
            case .plugin(let plugin):
                self = .plugin(
                    name: plugin.plugin, settings: plugin.settingsText.description,
                    rows: batch.events.map { event in
                        let id = JSONText.string(batch.payload.span.extracting(event.messageID)) ?? ""
                        return Row(
                            position: event.position, kind: event.kind, messageID: id, json: Array(batch.payload[event.payload]))
                    })
            }
        } catch {
            self = .impossible(reason: "\(error)")
        }
    }
}
