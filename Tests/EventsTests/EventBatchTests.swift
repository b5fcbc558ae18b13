import Events
import Testing

/// A batch whose events lie in the memory of somebody else.
@Suite struct EventBatchTests {
    /// Fills its memory with zeros at its end, so that a use after it is seen.
    @safe private final class Lender: Sendable {
        nonisolated(unsafe) let bytes: UnsafeMutableBufferPointer<UInt8>

        init(_ text: String) {
            unsafe bytes = .allocate(capacity: text.utf8.count)
            _ = unsafe bytes.initialize(fromContentsOf: Array(text.utf8))
        }

        deinit {
            unsafe bytes.update(repeating: 0)
            unsafe bytes.deallocate()
        }
    }

    private static let text = #"{"a":1}{"b":2}"#
    private static let second = EventRecord(
        position: 7, receivedAt: 0, offset: 7, length: 7, origin: 0, index: EventIndex(kind: .track))

    private func borrowed() -> (EventBatch, () -> Bool) {
        let lender = Lender(Self.text)
        var batch = EventBatch()
        batch.ownBytes = [1, 2, 3]
        unsafe batch.borrow(UnsafeBufferPointer(lender.bytes), from: lender)
        return (batch, { [weak lender] in lender != nil })
    }

    @Test func `the lender lives as long as the loan`() {
        var (batch, lives) = borrowed()
        #expect(lives() && batch.isBorrowed && batch.ownBytes.isEmpty && batch.memorySize == 14)
        #expect(batch.text(of: Self.second) == Array(#"{"b":2}"#.utf8))
        #expect(batch.json(of: Self.second)[2] == UInt8(ascii: "b"))
        var copy: EventBatch? = batch
        batch.removeAll()
        #expect(lives() && !batch.isBorrowed)
        #expect(copy?.text(of: Self.second) == Array(#"{"b":2}"#.utf8))
        copy = nil
        #expect(!lives())
    }

    @Test func `a batch that is kept has its own bytes`() {
        var (batch, lives) = borrowed()
        batch.keep()
        #expect(!lives() && !batch.isBorrowed && batch.ownBytes == Array(Self.text.utf8))
        #expect(batch.text(of: Self.second) == Array(#"{"b":2}"#.utf8))
        batch.keep()
        #expect(batch.ownBytes == Array(Self.text.utf8), "keeping it again changes nothing")
    }
}
