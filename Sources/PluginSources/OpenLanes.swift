import Events
import PluginHosting

/// The lanes that a source reads from, with their last durable positions.
struct OpenLanes {
    /// The most lanes that are remembered. Later ones are not shown.
    static let limit = 10_000

    /// By the bytes of the name, because strings with other bytes may be equal; nil: no position is durable since the
    /// plugin was started.
    private var positions: [[UInt8]: [UInt8]?] = [:]

    var count: Int { positions.count }

    mutating func open(_ lane: String) {
        let name = Array(lane.utf8)
        guard positions[name] == nil, positions.count < Self.limit else { return }
        positions.updateValue(nil, forKey: name)
    }

    mutating func close(_ lane: String) { positions[Array(lane.utf8)] = nil }

    /// Notes a durable position of an open lane.
    mutating func store(_ lane: LanePosition) {
        let name = Array(lane.lane.utf8)
        guard positions[name] != nil else { return }
        positions.updateValue(lane.position.isEmpty ? nil : lane.position, forKey: name)
    }

    /// The first lanes by name, printable.
    func first(_ limit: Int) -> [PluginSourceStatus.Lane] {
        positions.sorted { $0.key.lexicographicallyPrecedes($1.key) }.prefix(limit).map { name, position in
            PluginSourceStatus.Lane(
                name: PluginText.printable(String(decoding: name, as: UTF8.self), limit: LanePosition.limit),
                position: position.map(Self.printable))
        }
    }

    /// As text if it is text, otherwise in hexadecimal.
    static func printable(_ position: [UInt8]) -> String {
        if let text = String(validating: position, as: UTF8.self),
            PluginText.printable(text, limit: LanePosition.limit) == text
        {
            return text
        }
        return position.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
