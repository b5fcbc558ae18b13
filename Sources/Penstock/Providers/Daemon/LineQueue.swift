/// Consecutive whole lines, each with its line feed.
package struct LineBlock: Sendable, Equatable {
    package var bytes: [UInt8]
    package var lines: Int
    /// For each line the place of the call that recorded it; empty if the lines were read from disk.
    package var sites: [CallSite?] = []

    package init(bytes: [UInt8], lines: Int, sites: [CallSite?] = []) {
        self.bytes = bytes
        self.lines = lines
        self.sites = sites
    }

    /// Removes lines from the front.
    mutating func removeFirst(lines count: Int) {
        guard count > 0 else { return }
        bytes.removeFirst(bytes.length(ofLines: count))
        lines -= min(count, lines)
        sites.removeFirst(min(count, sites.count))
    }

    /// Returns the event of a line, counted from 0; nil if the line does not exist.
    package func event(_ line: Int) -> RecordedEvent? {
        guard (0..<lines).contains(line) else { return nil }
        let rest = bytes[bytes.length(ofLines: line)...]
        return RecordedEvent(
            line: Array(rest.prefix { $0 != UInt8(ascii: "\n") }), at: line < sites.count ? sites[line] : nil)
    }
}

extension [UInt8] {
    /// Returns the length of the first `count` lines in bytes, including line feeds.
    package func length(ofLines count: Int) -> Int {
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

    mutating func append(_ line: [UInt8], at site: CallSite?) {
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
        blocks[last].sites.append(site)
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
