import Delivery
import Events
import Foundation
import Journal
import JournalAdapters
import Platform
import Synchronization
import Testing

@testable import Control
@testable import Daemon

@Suite struct DiskRequestsTests {
    private final class Order: Sendable {
        private let list = Mutex<[String]>([])
        func note(_ what: String) { list.withLock { $0.append(what) } }
        var all: [String] { list.withLock { $0 } }
    }

    @Test(.timeLimit(.minutes(2)))
    func `requests are performed one at a time, and those beyond the limit are refused`() {
        let requests = DiskRequests()
        requests.start()
        let (gate, isIn, order) = (Doorbell(), Doorbell(), Order())
        let answers = (0..<DiskRequests.limit + 2).map { _ in Answer() }
        for (number, answer) in answers.enumerated() {
            let reply = answer.reply
            requests.add(reply) { _ in
                if number == 0 {
                    isIn.ring()
                    gate.wait()
                }
                order.note("\(number)")
                reply.respond(status: 200, contentType: "text/plain", body: [])
            }
            if number == 0 { isIn.wait() }
        }
        #expect(answers.last?.status == 503)
        #expect(answers.last?.text.contains("16 requests wait") == true)
        gate.ring()
        for answer in answers { #expect(answer.wait()) }
        #expect(order.all == (0...DiskRequests.limit).map { "\($0)" })
        requests.requestStop()
        #expect(requests.awaitEnd(by: SystemClock().now() + .seconds(60)))
    }

    @Test(.timeLimit(.minutes(2)))
    func `a stop answers every request at once, even while the disk does not respond`() {
        let requests = DiskRequests()
        requests.start()
        let (gate, isIn) = (Doorbell(), Doorbell())
        let (running, waiting, late) = (Answer(), Answer(), Answer())
        let reply = running.reply
        requests.add(reply) { _ in
            isIn.ring()
            gate.wait()
            reply.respond(status: 200, contentType: "text/plain", body: [])
        }
        isIn.wait()
        let second = waiting.reply
        requests.add(second) { _ in second.respond(status: 200, contentType: "text/plain", body: []) }
        requests.requestStop()
        for answer in [running, waiting] {
            #expect(answer.status == 503)
            #expect(answer.text.contains("the daemon is stopping"))
        }
        #expect(!requests.awaitEnd(by: SystemClock().now()), "the stop does not wait for a call that does not return")
        requests.add(late.reply) { _ in }
        #expect(late.status == 503)
        gate.ring()
    }

    @Test(.timeLimit(.minutes(2)))
    func `an interrupted search through many dead letters ends early and changes nothing`() throws {
        let rig = try DestinationRig()
        rig.journal.start()
        let gated = GatedDestination()
        gated.gate.ring()
        let destination = rig.running(gated)
        defer {
            let deadline = rig.clock.now() + .seconds(60)
            destination.requestStop(by: deadline)
            _ = destination.awaitStop(by: deadline, clock: rig.clock)
        }
        let store = destination.deadLetters.store
        let letter = StoredDeadLetter(
            position: 0, time: 0, receivedAt: 0, attempts: 1, messageID: "m", reason: "no", answer: "",
            event: Array("{}".utf8))
        for _ in 0..<20 { try store.append(Array(repeating: letter, count: 100)) }

        let interruption = Interruption()
        let seen = Atomic(0)
        try store.forEach(while: { !interruption.isRaised }) { _, _ in
            if seen.add(1, ordering: .relaxed).newValue == 150 { interruption.raise() }
            return true
        }
        #expect(seen.load(ordering: .relaxed) < 2000)

        for action in [DeadLetterRequest.Action.drop, .retry, .list(from: 0, limit: .max, withEvents: false)] {
            let answer = Answer()
            let request = try DeadLetterRequest(
                action, of: destination, in: rig.pipeline, .init(destination: "archive"))
            request.perform(interruption, answer.reply)
            #expect(answer.status == 503)
        }
        #expect(store.count == 2000)
        #expect(!destination.deadLetters.isRetrying)

        let answer = Answer()
        let request = try DeadLetterRequest(.drop, of: destination, in: rig.pipeline, .init(destination: "archive"))
        request.perform(Interruption(), answer.reply)
        #expect(answer.status == 200 && store.count == 0)
    }

    @Test func `a returning destination gets the same dead letters that a request still uses`() throws {
        let rig = try DestinationRig()
        let shelf = OpenDeadLetterFiles()
        func open(_ limit: Int) throws -> DeadLetterFile {
            DeadLetterFile(try rig.journal.deadLetters(of: "shop", limit: limit), journal: rig.journal.uuid.bytes)
        }
        var held: DeadLetterFile? = try shelf.file(of: "shop") { try open(1 << 20) }
        #expect(try shelf.file(of: "shop") { throw CancellationError() } === held)
        held = nil
        var isOpenedAnew = false
        held = try shelf.file(of: "shop") {
            isOpenedAnew = true
            return try open(1 << 20)
        }
        #expect(isOpenedAnew && held != nil)
    }
}
