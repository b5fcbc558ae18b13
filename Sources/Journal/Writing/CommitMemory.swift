/// Memory with the batches of a commit. The bytes of a commit in the recent commits do not change.
protocol CommitMemory: AnyObject, Sendable {
    var capacity: Int { get }
    /// Valid, and unchanged, while the recent commits or a loan refer to this object.
    @unsafe func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8>
}

/// A copy of a small commit.
@safe final class CommitCopy: CommitMemory, @unchecked Sendable {
    let capacity: Int
    private let memory: UnsafeMutablePointer<UInt8>

    /// - Parameter capacity: bytes.
    init(capacity: Int) {
        self.capacity = capacity
        unsafe memory = .allocate(capacity: capacity)
    }

    deinit { unsafe memory.deallocate() }

    /// Nobody else may refer to this object.
    func fill(with bytes: Span<UInt8>) {
        precondition(bytes.count <= capacity, "the copy is larger than its memory")
        unsafe bytes.withUnsafeBufferPointer { bytes in
            if let start = bytes.baseAddress { unsafe memory.initialize(from: start, count: bytes.count) }
        }
    }

    func bytes(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        precondition(range.lowerBound >= 0 && range.upperBound <= capacity, "outside of the copy")
        return unsafe UnsafeBufferPointer(start: memory + range.lowerBound, count: range.count)
    }
}
