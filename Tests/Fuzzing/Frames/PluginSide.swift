import CPluginChannel
import Telemetry

@testable import PluginHosting

/// The daemon's side of a plugin's process up to the receiver, and what holds for everything that an operator may see
/// of it. Takes the place of PluginProcess.
final class PluginSide {
    /// Log lines are kept for the comparison.
    final class Log: LogSink, @unchecked Sendable {
        var lines: [String] = []
        func write(_ level: Level, _ line: String) { lines.append("\(level) \(line)") }
    }

    private final class Pending {
        var isWaiting = false
        var isLoad = false
        var words: [String] = []
    }

    let log = Log()
    let telemetry: Telemetry
    private let pieces: Int
    private let pending = Pending()
    private var errors = ErrorLines()
    private var model: ChannelModel
    private var messages: PluginMessages?

    init(_ role: PluginRole, pieces: Int) {
        telemetry = Telemetry(sink: log, minimum: .debug) { 0 }
        self.pieces = pieces
        model = ChannelModel(role)
    }

    func connect(_ receiver: any PluginMessageReceiver) {
        messages = PluginMessages(receiver) { [pending] in Self.take($0, pending) }
    }

    /// No message can be taken any more.
    var hasEnded: Bool { model.hasEnded }

    /// Passes bytes to the model and then, in pieces, to the daemon. They must agree on whether they are allowed.
    /// - Parameter isAllowed: the model of the role's messages; it takes each message before the daemon does.
    func send(_ bytes: [UInt8], _ isAllowed: (ChannelModel.Message) -> Bool) {
        guard !hasEnded else { return }
        var isWaiting = pending.isWaiting
        model.take(bytes) { message in
            switch message.type {
            case 32:
                guard isWaiting, message.body.count >= 40 else { return false }
                isWaiting = false
                return message.body.count - 40 == Int(ChannelModel.number(message.body, 4))
            case 35...37: return true
            default: return isAllowed(message)
            }
        }
        var mayGoOn = true
        var rest = bytes[...]
        while mayGoOn, !rest.isEmpty {
            mayGoOn = messages?.take(Array(rest.prefix(pieces))) ?? false
            rest = rest.dropFirst(pieces)
        }
        require(mayGoOn != model.hasEnded, "the model says that this is \(mayGoOn ? "not " : "")allowed: \(bytes)")
        require(messages?.heldBytes ?? 0 <= 16 + (16 << 20), "the rest of a message is longer than one")
    }

    func request(isLoad: Bool) {
        pending.isWaiting = true
        pending.isLoad = isLoad
    }

    func print(_ bytes: [UInt8], _ receiver: any PluginMessageReceiver) {
        for start in stride(from: 0, to: bytes.count, by: min(pieces, max(bytes.count, 1))) {
            for line in errors.take(Array(bytes[start...].prefix(pieces))) { write(line, receiver) }
        }
    }

    private func write(_ line: String, _ receiver: any PluginMessageReceiver) {
        // Three bytes replace one that is not UTF-8.
        require(line.utf8.count <= 3 * Int(PLUGIN_CHANNEL_ERROR_LIMIT), "a line of \(line.utf8.count) bytes")
        receiver.reporting.writesError(line)
    }

    /// The log and the replies of the run.
    func finish(_ receiver: any PluginMessageReceiver) -> [String] {
        if let rest = errors.finish() { write(rest, receiver) }
        let metrics = receiver.reporting.metrics
        require(metrics.counters.count <= 64 && metrics.gauges.count <= 64, "\(metrics)")
        for name in Array(metrics.counters.keys) + metrics.gauges.keys {
            require((1...64).contains(name.utf8.count) && !name.utf8.contains { $0 < 0x30 || $0 > 0x7A }, name)
        }
        require(metrics.gauges.allSatisfy { $0.value.isFinite }, "\(metrics)")
        for line in log.lines { require(line.utf8.count <= 30_000, "a log line of \(line.utf8.count) bytes") }
        let sorted = (metrics.counters.map { "\($0)" } + metrics.gauges.map { "\($0)" }).sorted()
        return log.lines + pending.words + sorted
    }

    // MARK: Replies

    private static func take(_ reply: PluginProcess.Reply, _ pending: Pending) -> Bool {
        guard pending.isWaiting else { return false }
        pending.isWaiting = false
        if pending.isLoad {
            pending.words += describe(reply)
        } else {
            require(reply.reason.utf8.count <= 3 * 1024, "a reason of \(reply.reason.utf8.count) bytes")
            pending.words.append("\(reply.status) \(reply.values) \(reply.reason)")
        }
        return true
    }

    /// What the plugin says about itself, and what its schemas say about some settings.
    private static func describe(_ reply: PluginProcess.Reply) -> [String] {
        do throws(PluginError) {
            let plugin = try PluginDescription(reply, "/a.so")
            require(!plugin.name.isEmpty, "a plugin without a name")
            for (text, limit) in [(plugin.name, 64), (plugin.version, 64), (plugin.summary, 256)] {
                requirePrintable(text, limit)
            }
            return ["\(plugin.name) \(plugin.version) \(plugin.summary) \(plugin.abi)"]
                + plugin.roles.map { role in check(plugin, role) }
        } catch {
            requirePrintable(error.description, 4096)
            return [error.description]
        }
    }

    private static func check(_ plugin: PluginDescription, _ role: PluginRole) -> String {
        let settings = #"{"a":1,"path":"b","list":["x",null,true],"c":{"d":1.5}}"#
        do throws(PluginError) {
            let own = try plugin.settings(as: role)
            let checked = try own.checked(settings, from: "/etc")
            let paths = try own.paths(in: checked)
            for (_, path) in paths { require(path.hasPrefix("/"), "a relative path: \(path)") }
            return "\(checked) \(paths)"
        } catch {
            requirePrintable(error.description, 4096)
            return error.description
        }
    }

    /// - Parameter limit: in characters, with one more for the sign that it is cut.
    static func requirePrintable(_ text: String, _ limit: Int) {
        require(text.unicodeScalars.count <= limit + 1, "a text of \(text.unicodeScalars.count) characters")
        let isPrintable = !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
        require(isPrintable, "a text with a control character: \(text)")
    }
}
