import Control
import Delivery
import Events
import Foundation
import Platform
import Testing

@testable import Daemon

/// What bounds a tap.
@Suite struct TapPaceTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    /// How many records of a size may be sent in this time, in rounds of 20 ms.
    private func taken(_ size: Int, rounds: Int) -> Int {
        var pace = TapPace(now: start)
        var count = 0
        for round in 1...rounds {
            pace.advance(to: start + .milliseconds(20 * round))
            while pace.mayTake {
                pace.take(size)
                count += 1
            }
        }
        return count
    }

    @Test func `records and bytes are bounded per second`() {
        #expect((5 * TapPace.records...6 * TapPace.records).contains(taken(100, rounds: 250)))
        let large = 256 << 10
        let bytes = taken(large, rounds: 250) * large
        #expect((5 * TapPace.bytes...6 * TapPace.bytes).contains(bytes), "\(bytes)")
    }

    @Test func `a pause saves up little, and a clock that stands still nothing`() {
        var pace = TapPace(now: start)
        pace.advance(to: start + .seconds(1_000_000))
        var count = 0
        while pace.mayTake {
            pace.take(1)
            count += 1
        }
        #expect(count == TapPace.records / 5)
        pace.advance(to: start)
        #expect(!pace.mayTake)
    }

    @Test(arguments: [1, 200, TapPace.records, .max]) func `a sample has at most its rate`(_ rate: Int) {
        var pace = TapPace(rate: rate, now: start)
        var count = 0
        for round in 1...100 {
            pace.advance(to: start + .milliseconds(100 * round))
            while pace.mayTake {
                pace.take(1)
                count += 1
            }
        }
        let most = min(rate, TapPace.records)
        #expect((9 * most...11 * most).contains(count), "\(count) in 10 s")
    }

    private func item(_ events: Int, bytes: Int) -> TapItem {
        var batch = OutboundBatch()
        for number in 0..<events {
            batch.events.append(
                OutboundEvent(
                    position: UInt64(number), receivedAt: 0, kind: .track, payload: 0..<0, messageID: 0..<0))
        }
        batch.payload = Array(repeating: 0, count: bytes)
        return TapItem(content: .sent(batch, .all(.delivered)), destination: "archive", secrets: [])
    }

    @Test func `a queue keeps a bounded number of bytes and counts the rest`() {
        let queue = TapQueue()
        for _ in 0..<1000 { queue.put(item(3, bytes: 64 << 10)) }
        var items = 0
        while queue.next() != nil { items += 1 }
        #expect((1...TapQueue.limit / (64 << 10)).contains(items))
        #expect(queue.takeMissed() == UInt64(3 * (1000 - items)))
        #expect(queue.takeMissed() == 0)
        // One batch may be larger than the queue.
        queue.put(item(7, bytes: 2 * TapQueue.limit))
        queue.put(item(1, bytes: 1))
        #expect(queue.next()?.count == 7 && queue.next() == nil && queue.takeMissed() == 1)
    }

    @Test func `what is not taken from a queue stays there in order, with room for as much as was taken`() {
        let queue = TapQueue()
        for number in 0..<10_000 {
            queue.put(item(number % 7, bytes: 1 << 10))
            // It is never empty.
            if number >= 100 { #expect(queue.next()?.count == (number - 100) % 7) }
        }
        #expect(queue.takeMissed() == 0)
        queue.put(item(1, bytes: TapQueue.limit))
        #expect(queue.clear() == UInt64((9_900..<10_000).reduce(1) { $0 + $1 % 7 }))
        #expect(queue.next() == nil && queue.clear() == 0)
    }

    @Test func `a record is one line of JSON, whatever the event and the secrets are`() throws {
        func line(_ json: String, hiding secrets: [String]) throws -> [String: Any] {
            var batch = OutboundBatch()
            batch.payload = Array(json.utf8)
            batch.events = [
                OutboundEvent(
                    position: .max, receivedAt: .min, kind: .track, attempt: .max, payload: 0..<batch.payload.count,
                    messageID: 0..<0)
            ]
            let item = TapItem(
                content: .sent(batch, .all(.delivered)), destination: "a\"b\n", secrets: secrets.map { Array($0.utf8) })
            let outcome = Outcome.retry(reason: "\"\u{1}", answer: "\u{7F}")
            let bytes = TapRecord.sent(batch.events[0], of: batch, outcome, item).bytes
            #expect(!bytes.contains(10))
            return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        }
        let plain = try line("{\"a\":\n [1,\r\n2]}", hiding: [])
        #expect((plain["event"] as? [String: [Int]])?["a"] == [1, 2])
        #expect(plain["destination"] as? String == "a\"b\n" && plain["reason"] as? String == "\"\u{1}")
        #expect(plain["position"] as? UInt64 == .max && plain["attempt"] as? Int == 1 << 32)
        let hidden = try line(#"{"key":"abcdef","id":"abc"}"#, hiding: ["abc", "abcdef", ""])
        #expect(hidden["event"] as? [String: String] == ["key": "[hidden]", "id": "[hidden]"])
        // A secret of digits is a part of a number: without it, the event is no JSON.
        let number = try line(#"{"key":"12","total":9121}"#, hiding: ["12"])
        #expect(number["event"] == nil && number["event_bytes"] as? Int == 25)
        let large = try line("\"\(String(repeating: "x", count: TapRecord.largestEvent))\"", hiding: [])
        #expect(large["event"] == nil && large["event_bytes"] as? Int == TapRecord.largestEvent + 2)
    }
}
