import Configuration
import Delivery
import Destinations
import Events

/// The last part of an event's story for a person: what leaves the daemon, and in what bounds.
struct DeliveryText {
    private let paint: Paint

    init(_ paint: Paint) { self.paint = paint }

    func render(_ delivery: ExplainedDelivery, of explanation: DestinationExplanation) -> [String] {
        var lines: [String] = []
        switch delivery {
        case .files(let files):
            for file in files {
                lines.append(paint("→ ", .green) + paint(file.path, .bold))
                lines += file.lines.map { "  " + paint(String(decoding: $0, as: UTF8.self)) }
            }
        case .requests(let requests):
            for request in requests { lines += render(request) }
        case .plugin(let name, let settings, let rows):
            lines.append(paint("→ ", .green) + paint("plugin \(name)", .bold) + paint(" \(settings)", .dim))
            for row in rows {
                lines.append("  " + paint("position \(row.position), \(row.kind.name), message id \(row.messageID)", .dim))
                lines.append("  " + paint(String(decoding: row.json, as: UTF8.self)))
            }
        case .impossible(let reason): lines.append(paint("! \(reason)", .yellow))
        }
        return lines + limits(explanation)
    }

    private func render(_ request: HTTPRequestPreview) -> [String] {
        let headers = request.shownHeaders.map { "  " + paint("\($0.name): ", .dim) + paint($0.value) }
        let tree = JSONTree(request.body)
        let body = tree?.lines ?? String(decoding: request.body, as: UTF8.self).split(separator: "\n").map(String.init)
        return [paint("→ ", .green) + paint("\(request.method) \(request.url)", .bold)] + headers + [""]
            + body.map { "  " + paint($0) }
    }

    /// What the destination's limits say of it.
    private func limits(_ explanation: DestinationExplanation) -> [String] {
        let batch = explanation.destination.batch
        let bytes = explanation.output.payload.count
        let events = explanation.output.events.count
        if events > batch.events {
            return [paint("\(events) events are more than batch.events (\(batch.events)): what one became goes together, alone", .yellow)]
        }
        if bytes > batch.bytes {
            return [paint("\(bytes) bytes are more than batch.bytes (\(Quantity.text(batch.bytes))): it goes alone", .yellow)]
        }
        let wait = batch.wait == .zero ? "at once" : "after \(Quantity.text(batch.wait)) at the latest"
        return [paint("\(bytes) bytes of \(Quantity.text(batch.bytes)), \(events) of \(batch.events) events a batch, \(wait)", .dim)]
    }
}
