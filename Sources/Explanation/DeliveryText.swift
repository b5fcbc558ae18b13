import DaemonConfiguration
import Delivery
import Destinations
import Events
import Platform

/// Renders the last part of an explanation: the output of a destination, and its batch limits.
struct DeliveryText {
    private let style: ANSIStyle

    init(_ style: ANSIStyle) { self.style = style }

    func render(_ delivery: ExplainedDelivery, of explanation: DestinationExplanation) -> [String] {
        var lines: [String] = []
        switch delivery {
        case .files(let files):
            for file in files {
                lines.append(style("→ ", .green) + style(file.path, .bold))
                lines += file.lines.map { "  " + style(String(decoding: $0, as: UTF8.self)) }
            }
        case .requests(let requests):
            for request in requests { lines += render(request) }
        case .plugin(let name, let settings, let rows):
            lines.append(style("→ ", .green) + style("plugin \(name)", .bold) + style(" \(settings)", .dim))
            for row in rows {
                lines.append(
                    "  " + style("position \(row.position), \(row.kind.name), message id \(row.messageID)", .dim))
                lines.append("  " + style(String(decoding: row.json, as: UTF8.self)))
            }
        case .impossible(let reason): lines.append(style("! \(reason)", .yellow))
        }
        return lines + limits(explanation)
    }

    private func render(_ request: HTTPRequestPreview) -> [String] {
        let headers = request.shownHeaders.map { "  " + style("\($0.name): ", .dim) + style($0.value) }
        let tree = JSONTree(request.body)
        let body = tree?.lines ?? String(decoding: request.body, as: UTF8.self).split(separator: "\n").map(String.init)
        return [style("→ ", .green) + style("\(request.method) \(request.url)", .bold)] + headers + [""]
            + body.map { "  " + style($0) }
    }

    /// Compares the output with the destination's batch limits.
    private func limits(_ explanation: DestinationExplanation) -> [String] {
        let batch = explanation.destination.batch
        let bytes = explanation.output.payload.count
        let events = explanation.output.events.count
        if events > batch.events {
            return [
                style(
                    "\(events) events exceed batch.events (\(batch.events)): "
                        + "they are sent together in a separate batch",
                    .yellow)
            ]
        }
        if bytes > batch.bytes {
            return [
                style(
                    "\(bytes) bytes exceed batch.bytes (\(Quantity.text(batch.bytes))): sent in a separate batch",
                    .yellow)
            ]
        }
        let wait = batch.wait == .zero ? "at once" : "after \(Quantity.text(batch.wait)) at the latest"
        return [
            style(
                "\(bytes) bytes of \(Quantity.text(batch.bytes)), \(events) of \(batch.events) events a batch, \(wait)",
                .dim)
        ]
    }
}
