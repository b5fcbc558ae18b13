import CPenstockPlugin
import CPluginChannel
import Platform
import Synchronization
import Telemetry
import Testing

@testable import Destinations
@testable import PluginHosting

/// The bytes that a plugin's process writes. `make fuzz-frames` tries arbitrary ones.
@Suite struct PluginMessagesTests {
    private final class Receiver: PluginMessageReceiver {
        let reporting = PluginReporting(
            owner: "a", telemetry: Telemetry(sink: NoLines()) { 0 }, minimum: .error, passesOutput: false)
        private let received = Mutex<[[UInt8]]>([])
        var bodies: [[UInt8]] { received.withLock { $0 } }

        func longestMessage(_ type: plugin_channel_type) -> Int? { type == PLUGIN_COMPLETE ? 100 : nil }
        func receive(_ type: plugin_channel_type, token: UInt64, _ body: [UInt8]) -> Bool {
            received.withLock { $0.append(body) }
            return true
        }
        func processEnded() {}
    }

    private struct NoLines: LogSink {
        func write(_ level: Level, _ line: String) {}
    }

    private static func message(_ type: plugin_channel_type, _ body: [UInt8], length: UInt32? = nil) -> [UInt8] {
        let header = plugin_header(type: type.rawValue, length: length ?? UInt32(body.count), token: 1)
        return PluginProcess.bytes(of: header) + body
    }

    private static func reply(_ text: String, flags: UInt32 = 0) -> [UInt8] {
        let head = plugin_reply(
            status: PENSTOCK_OK, text_length: UInt32(text.utf8.count), values: (1, 1, UInt64(flags), 64))
        return PluginProcess.bytes(of: head) + Array(text.utf8)
    }

    @Test(arguments: [1, 2, 15, 16, 17, 1000])
    func `the pieces in which messages arrive make no difference`(size: Int) {
        let receiver = Receiver()
        var messages = PluginMessages(receiver) { _ in true }
        let bodies: [[UInt8]] = [[1, 2, 3], [], Array(repeating: 7, count: 100), [4]]
        let bytes = bodies.flatMap { Self.message(PLUGIN_COMPLETE, $0) }
        for start in stride(from: 0, to: bytes.count, by: size) {
            let isAllowed = messages.take(Array(bytes[start..<min(start + size, bytes.count)]))
            #expect(isAllowed)
        }
        #expect(receiver.bodies == bodies)
        #expect(messages.heldBytes == 0)
    }

    @Test(arguments: [PLUGIN_COMPLETE, PLUGIN_LOG, PLUGIN_COUNTER, PLUGIN_GAUGE, PLUGIN_REPLY])
    func `a message that is too long is refused by its header`(type: plugin_channel_type) {
        for length in [UInt32.max, 1 << 31, PLUGIN_CHANNEL_DESCRIPTION_LIMIT + 41] {
            var messages = PluginMessages(Receiver()) { _ in true }
            let isAllowed = messages.take(Self.message(type, [], length: length))
            #expect(!isAllowed)
        }
    }

    @Test(arguments: [0, PLUGIN_LOAD.rawValue, PLUGIN_READY.rawValue, PLUGIN_OFFER.rawValue, 43, UInt32.max])
    func `a message that the role does not have is refused`(type: UInt32) {
        let receiver = Receiver()
        var messages = PluginMessages(receiver) { _ in true }
        let isAllowed = messages.take(Self.message(plugin_channel_type(type), []))
        #expect(!isAllowed)
        #expect(receiver.bodies.isEmpty)
    }

    @Test func `a reply is taken only when one is expected, and with its whole text`() {
        let isExpected = Mutex(true)
        func take(_ body: [UInt8]) -> Bool {
            var messages = PluginMessages(Receiver()) { _ in isExpected.withLock { $0 } }
            return messages.take(Self.message(PLUGIN_REPLY, body))
        }
        #expect(take(Self.reply("text")))
        #expect(!take(Self.reply("text") + [0]))
        #expect(!take(Self.reply("text").dropLast()))
        #expect(!take(Array(Self.reply("").dropLast())))
        isExpected.withLock { $0 = false }
        #expect(!take(Self.reply("text")))
    }

    @Test func `what a plugin says about itself is printable and bounded`() throws {
        let long = String(repeating: "x", count: 100_000)
        let reply = try #require(
            PluginProcess.Reply(
                Self.reply("a\u{1B}[31m\nb\0\(long)\0\u{202E}\(long)\0\0\0\0\0", flags: PLUGIN_IS_SINK)))
        let plugin = try PluginDescription(reply, "/a.so")
        #expect(plugin.name == "a?[31m?b")
        #expect(plugin.version.count == 65 && plugin.version.hasSuffix("x…"))
        #expect(plugin.summary.count == 257 && plugin.summary.hasPrefix("?x"))
    }

    @Test func `lines of standard error have a bounded length`() {
        var lines = ErrorLines()
        let limit = Int(PLUGIN_CHANNEL_ERROR_LIMIT)
        #expect(lines.take(Array("a\nb".utf8)) == ["a"])
        #expect(lines.take(Array("c\n\n".utf8)) == ["bc", ""])
        #expect(lines.take(Array(repeating: 0x78, count: limit + 1)) == [String(repeating: "x", count: limit)])
        #expect(lines.finish() == "x")
        #expect(lines.finish() == nil)
    }

    private static func completion(
        count: UInt32 = 1, stride: UInt32 = PLUGIN_OUTCOME_SIZE_1_0, given: UInt32 = 1, reason: UInt32 = 2,
        text: String = "no"
    ) -> PluginCompletion? {
        let head = plugin_complete(count: count, stride: stride, given: given, reserved: 0)
        let outcome = plugin_outcome(status: PENSTOCK_REJECTED, retry_after_ms: 0, reason_length: reason)
        return PluginCompletion(
            PluginProcess.bytes(of: head) + (given == 1 ? PluginProcess.bytes(of: outcome) : []) + Array(text.utf8))
    }

    @Test func `outcomes that the protocol does not allow are refused`() {
        #expect(Self.completion()?.outcomes?.count == 1)
        #expect(Self.completion(stride: PLUGIN_OUTCOME_SIZE_1_0 - 1) == nil)
        #expect(Self.completion(given: 2) == nil)
        #expect(Self.completion(given: .max - 1) == nil)
        #expect(Self.completion(reason: 1) == nil)
        #expect(Self.completion(reason: .max) == nil)
        #expect(Self.completion(given: .max) == nil)
        let missing = Self.completion(stride: 8, given: .max, text: "")
        #expect(missing != nil && missing?.outcomes == nil)
    }
}
