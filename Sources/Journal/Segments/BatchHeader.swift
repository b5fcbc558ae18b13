/// The 64 bytes before every batch. Format.md specifies the layout.
package struct BatchHeader: Sendable, Equatable {
    /// The kind of a batch. The raw values are stored and never change. Readers skip unknown kinds.
    package enum Kind {
        package static let events: UInt8 = 1
        package static let deadLetters: UInt8 = 2
        package static let seal: UInt8 = 3
        package static let cursors: UInt8 = 4
        package static let lanes: UInt8 = 5
        package static let marks: UInt8 = 6
    }

    package static let size = 64
    /// "PNSB".
    package static let magic: UInt32 = 0x4253_4E50
    package static let version: UInt8 = 1
    /// Flags in these bits change the meaning of the batch: a reader must not read a batch with an unknown one. It may
    /// ignore unknown flags in the other bits. None of these is in use yet.
    package static let flagsToUnderstand: UInt16 = 0xFF00

    package var kind: UInt8
    package var flags: UInt16 = 0
    /// The bytes after the header, without the padding to eight.
    package var payloadLength: UInt32
    /// The number of positions that the batch takes.
    package var count: UInt32
    package var firstPosition: UInt64
    /// All positions below were durable when the batch was written.
    package var durablePosition: UInt64
    /// Nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    package var uid: UInt32 = 0
    package var gid: UInt32 = 0
    package var pid: Int32 = 0
    /// The length of the source's name, with which the payload begins, padded to eight.
    package var sourceLength: UInt16 = 0
    package var payloadChecksum: UInt32 = 0

    /// The size of header, payload and padding.
    @inline(__always)
    package var totalSize: Int { Self.size + Int(payloadLength).paddedTo8 }
    package var endPosition: UInt64 { firstPosition &+ UInt64(count) }

    package init(
        kind: UInt8, payloadLength: UInt32, count: UInt32, firstPosition: UInt64, durablePosition: UInt64,
        receivedAt: Int64
    ) {
        self.kind = kind
        self.payloadLength = payloadLength
        self.count = count
        self.firstPosition = firstPosition
        self.durablePosition = durablePosition
        self.receivedAt = receivedAt
    }

    /// Reads the header at `start`; nil if there is no whole header.
    /// - Parameter checksum: seeded for the place in the file where the bytes come from.
    package init?(_ bytes: RawSpan, at start: Int, _ checksum: Checksum) {
        guard start >= 0, bytes.byteCount - start >= Self.size,
            bytes.number(UInt32.self, at: start) == Self.magic
        else { return nil }
        var checksum = checksum
        checksum.update(bytes.extracting(start..<start + 60))
        guard checksum.matches(bytes.number(UInt32.self, at: start + 60), .headerChecksum),
            bytes.number(UInt8.self, at: start + 4) == Self.version
        else { return nil }
        kind = bytes.number(UInt8.self, at: start + 5)
        flags = bytes.number(UInt16.self, at: start + 6)
        payloadLength = bytes.number(UInt32.self, at: start + 8)
        count = bytes.number(UInt32.self, at: start + 12)
        firstPosition = bytes.number(UInt64.self, at: start + 16)
        durablePosition = bytes.number(UInt64.self, at: start + 24)
        receivedAt = bytes.number(Int64.self, at: start + 32)
        uid = bytes.number(UInt32.self, at: start + 40)
        gid = bytes.number(UInt32.self, at: start + 44)
        pid = bytes.number(Int32.self, at: start + 48)
        sourceLength = bytes.number(UInt16.self, at: start + 52)
        payloadChecksum = bytes.number(UInt32.self, at: start + 56)
        guard Int(sourceLength) <= Int(payloadLength), flags & Self.flagsToUnderstand == 0,
            !firstPosition.addingReportingOverflow(UInt64(count)).overflow
        else { return nil }
    }

    /// Whether the payload after the header at `start` matches its checksum. False if the payload is not complete.
    package func payloadIsIntact(in bytes: RawSpan, headerAt start: Int, _ checksum: Checksum) -> Bool {
        let begin = start + Self.size
        guard bytes.byteCount - begin >= Int(payloadLength) else { return false }
        var checksum = checksum
        checksum.update(bytes.extracting(begin..<begin + Int(payloadLength)))
        return checksum.matches(payloadChecksum, .payloadChecksum)
    }

    /// The header's bytes with its checksum. `payloadChecksum` must be set.
    package func encoded(_ checksum: Checksum) -> InlineArray<64, UInt8> {
        var bytes = InlineArray<64, UInt8>(repeating: 0)
        func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
            for byte in 0..<Number.bitWidth / 8 {
                bytes[offset + byte] = UInt8(truncatingIfNeeded: number >> Number(8 * byte))
            }
        }
        put(Self.magic, at: 0)
        put(Self.version, at: 4)
        put(kind, at: 5)
        put(flags, at: 6)
        put(payloadLength, at: 8)
        put(count, at: 12)
        put(firstPosition, at: 16)
        put(durablePosition, at: 24)
        put(receivedAt, at: 32)
        put(uid, at: 40)
        put(gid, at: 44)
        put(pid, at: 48)
        put(sourceLength, at: 52)
        put(payloadChecksum, at: 56)
        var checksum = checksum
        checksum.update(bytes.span.raw.extracting(0..<60))
        put(checksum.value, at: 60)
        return bytes
    }

    /// A whole batch in one array: header, payload, padding.
    package static func batch(_ header: BatchHeader, payload: [UInt8], _ checksum: Checksum) -> [UInt8] {
        var header = header
        var sum = checksum
        sum.update(payload.span.raw)
        header.payloadChecksum = sum.value
        var bytes: [UInt8] = []
        bytes.reserveCapacity(header.totalSize)
        let head = header.encoded(checksum)
        for index in head.indices { bytes.append(head[index]) }
        bytes.append(contentsOf: payload)
        bytes.pad()
        return bytes
    }
}
