import Testing

@testable import Ingest

@Suite struct AcknowledgementLedgerTests {
    @Test func `lines are acknowledged once their events are durable`() {
        var ledger = AcknowledgementLedger()
        ledger.add(lines: 3, queuedUpTo: 10)
        #expect(ledger.waits)
        #expect(ledger.takeAcknowledgement() == nil)
        ledger.durable(upTo: 9)
        #expect(ledger.takeAcknowledgement() == nil)
        ledger.durable(upTo: 10)
        #expect(ledger.takeAcknowledgement() == 3)
        #expect(!ledger.waits)
    }

    @Test func `a line is acknowledged once`() {
        var ledger = AcknowledgementLedger()
        ledger.add(lines: 1, queuedUpTo: nil)
        #expect(ledger.takeAcknowledgement() == 1)
        #expect(ledger.takeAcknowledgement() == nil)
    }

    @Test func `refused lines are acknowledged only after the events before them`() {
        var ledger = AcknowledgementLedger()
        ledger.add(lines: 2, queuedUpTo: 2)
        ledger.add(lines: 1, queuedUpTo: nil)
        #expect(ledger.takeAcknowledgement() == nil)
        ledger.durable(upTo: 2)
        #expect(ledger.takeAcknowledgement() == 3)
    }

    @Test func `a commit acknowledges only the lines that it covers`() {
        var ledger = AcknowledgementLedger()
        for group in 1...200 { ledger.add(lines: 1, queuedUpTo: UInt64(group)) }
        ledger.durable(upTo: 150)
        #expect(ledger.takeAcknowledgement() == 150)
        ledger.durable(upTo: 151)
        #expect(ledger.takeAcknowledgement() == 151)
        #expect(ledger.waits)
        ledger.durable(upTo: 1000)
        #expect(ledger.takeAcknowledgement() == 200)
        #expect(ledger.lines == 200)
    }

    /// Lines that repeat earlier events have the end of those events.
    @Test func `a group that ends before the group ahead of it is settled with that group`() {
        var ledger = AcknowledgementLedger()
        ledger.add(lines: 1, queuedUpTo: 9)
        ledger.add(lines: 1, queuedUpTo: 4)
        #expect(ledger.awaitedEnd == 9)
        ledger.durable(upTo: 4)
        #expect(ledger.takeAcknowledgement() == nil)
        ledger.durable(upTo: 9)
        #expect(ledger.takeAcknowledgement() == 2)
        ledger.add(lines: 1, queuedUpTo: 4)
        #expect(ledger.awaitedEnd == nil)
        #expect(ledger.takeAcknowledgement() == 3)
    }
}
