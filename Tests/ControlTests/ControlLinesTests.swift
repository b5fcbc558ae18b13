import Control
import Foundation
import Platform
import Testing

@Suite struct ControlLinesTests {
    @Test func `lines arrive in order, and the end follows the last one`() throws {
        let daemon = try Daemon { _, reply in
            let lines = reply.startLines()
            for number in 1...500 { lines.send(Array("\(number)".utf8)) }
            lines.finish()
        }
        let received = Collected<String>()
        let answer = try daemon.client.lines("/tap") { line in
            received.append(String(decoding: line, as: UTF8.self))
            return true
        }
        #expect(answer == ControlAnswer(status: 200, body: []))
        #expect(received.values == (1...500).map(String.init))
    }

    @Test func `a client that stops reading ends the stream for the sender`() throws {
        let streams = Collected<ControlLines>()
        let daemon = try Daemon { _, reply in
            let lines = reply.startLines()
            streams.append(lines)
            for letter in "abcdef".utf8 { lines.send([letter]) }
        }
        let received = Collected<[UInt8]>()
        let answer = try daemon.client.lines("/tap") { received.append($0) < 3 }
        #expect(answer.status == 200)
        #expect(received.values == [Array("a".utf8), Array("b".utf8), Array("c".utf8)])
        #expect(eventually { streams.values[0].send([0]) == .closed })
    }

    @Test func `a client that does not read loses lines and uses bounded memory`() throws {
        var limits = ControlServer.Limits()
        limits.unreadLines = 100_000
        let streams = Collected<ControlLines>()
        let daemon = try Daemon(limits: limits) { _, reply in streams.append(reply.startLines()) }
        let client = try RawClient(daemon.socket)
        client.send("GET /tap HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(eventually { streams.values.count == 1 })
        let lines = streams.values[0]
        // The kernel's buffers take some lines. After that, the bound applies.
        let line = [UInt8](repeating: 65, count: 10_000)
        #expect(eventually { lines.send(line) == .dropped })
        #expect(lines.dropped == 1)
        // The client reads at last, so there is room again.
        #expect(eventually { client.receiveMore() > 0 && lines.send(line) == .sent })
    }

    @Test func `a finished stream waits for a client that does not read, but not longer than its patience`() throws {
        var limits = ControlServer.Limits()
        limits.patience = .milliseconds(50)
        let streams = Collected<ControlLines>()
        let daemon = try Daemon(limits: limits) { _, reply in streams.append(reply.startLines()) }
        let client = try RawClient(daemon.socket)
        client.send("GET /tap HTTP/1.1\r\nhost: a\r\n\r\n")
        #expect(eventually { streams.values.count == 1 })
        let line = [UInt8](repeating: 65, count: 10_000)
        #expect(eventually { streams.values[0].send(line) == .dropped })
        streams.values[0].finish()
        #expect(eventually { client.hasHungUp })
    }

    @Test func `a refused stream has a reason`() throws {
        let daemon = try Daemon { _, reply in reply.fail(400, "the filter has no end") }
        let answer = try daemon.client.lines("/tap") { _ in true }
        #expect(answer.status == 400)
        #expect(answer.error == "the filter has no end")
    }

    @Test func `an answered request gets no stream`() throws {
        let outcomes = Collected<ControlLines.Outcome>()
        let daemon = try Daemon { _, reply in
            reply.respond(contentType: "text/plain", body: [65])
            outcomes.append(reply.startLines().send([66]))
        }
        #expect(try daemon.client.get("/tap").body == [65])
        #expect(outcomes.values == [.closed])
    }

    @Test func `a stream ends when its owner drops it`() throws {
        let daemon = try Daemon { _, reply in reply.startLines().send([65]) }
        let received = Collected<[UInt8]>()
        _ = try daemon.client.lines("/tap") { line in
            received.append(line)
            return true
        }
        #expect(received.values == [[65]])
    }
}
