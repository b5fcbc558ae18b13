import DaemonConfiguration
import Delivery
import Destinations
import Events

/// What a destination would finally do with an output, as lines of text that can be compared: one member of JSON in
/// each line.
enum FinalLines {
    static func lines(_ output: OutboundBatch, to destination: Configuration.Destination) -> [String] {
        switch ExplainedDelivery(output, to: destination) {
        case .files(let files):
            return files.flatMap { file in
                [file.path] + file.lines.flatMap { file.isCSV ? [text($0)] : expanded($0) }
            }
        case .requests(let requests):
            return requests.flatMap { request in
                ["\(request.method) \(request.url)"] + request.shownHeaders.map { "\($0.name): \($0.value)" } + [""]
                    + body(request.body)
            }
        case .plugin(let name, let settings, let rows):
            return ["plugin \(name) \(settings)"]
                + rows.flatMap { ["\($0.kind.name), message id \($0.messageID)"] + expanded($0.json) }
        case .impossible(let reason): return ["! \(reason)"]
        }
    }

    /// A body is one JSON value, or one value in each line.
    private static func body(_ bytes: [UInt8]) -> [String] {
        if let tree = JSONTree(bytes) { return tree.expandedLines }
        return bytes.split(separator: 0x0A).flatMap { expanded(Array($0)) }
    }

    private static func expanded(_ json: [UInt8]) -> [String] { JSONTree(json)?.expandedLines ?? [text(json)] }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
