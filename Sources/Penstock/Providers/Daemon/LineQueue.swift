/// Consecutive whole lines, each with its line feed.
struct LineBlock: Sendable, Equatable {
    var bytes: [UInt8]
    var lines: Int

    /// Removes lines from the front.
    mutating func removeFirst(lines count: Int) {
        guard count > 0 else { return }
        bytes.removeFirst(bytes.length(ofLines: count))
        lines -= min(count, lines)
    }
}

extension [UInt8] {
    /// Returns the length of the first `count` lines in bytes, including line feeds.
    func length(ofLines count: Int) -> Int {
        let bytes = span
        var left = count
        var position = 0
        while left > 0, position < bytes.count {
            if bytes[position] == UInt8(ascii: "\n") { left -= 1 }
            position += 1
        }
        return position
    }
}

/// Lines that wait for the provider's thread. Appending copies bytes, and allocates nothing once the queue has reached
/// its usual size.
struct LineQueue {
    /// The approximate size of a block in bytes. A block is written to a socket or a file in one call.
    static let blockSize = 64 << 10
    /// The maximum number of empty blocks kept for reuse.
    private static let spareBlocks = 16

    private var blocks: [LineBlock] = []
    private var spare: [[UInt8]] = []

    var isEmpty: Bool { blocks.isEmpty }

    mutating func append(_ line: [UInt8]) {
        let fits = blocks.last.map { $0.bytes.count + line.count < Self.blockSize } ?? false
        if !fits {
            var bytes = spare.popLast() ?? []
            bytes.reserveCapacity(Self.blockSize)
            blocks.append(LineBlock(bytes: bytes, lines: 0))
        }
        let last = blocks.count - 1
        blocks[last].bytes.append(contentsOf: line)
        blocks[last].bytes.append(UInt8(ascii: "\n"))
        blocks[last].lines += 1
    }

    mutating func takeAll() -> [LineBlock] {
        defer { blocks.removeAll(keepingCapacity: true) }
        return blocks
    }

    /// Takes back the buffer of a block for reuse.
    mutating func reuse(_ bytes: consuming [UInt8]) {
        guard spare.count < Self.spareBlocks, bytes.capacity <= 2 * Self.blockSize else { return }
        bytes.removeAll(keepingCapacity: true)
        spare.append(bytes)
    }
}
