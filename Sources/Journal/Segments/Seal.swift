import Platform

/// The summary of a finished segment: a special batch in the file's last 128 bytes. With it, a start need not
/// read every segment.
struct Seal: Equatable {
    /// The end of the batches. Bytes between here and the seal are not part of the journal.
    var validLength: Int
    /// The position after the segment's last event.
    var endPosition: UInt64
    /// Missing events below this position were durable; missing events at or above it belong to an interrupted write.
    var durablePosition: UInt64
    var earliest: Int64
    var latest: Int64

    /// - Parameter offset: the seal's offset: the file's size minus `Segment.sealSize`.
    func encoded(_ seed: ChecksumSeed, at offset: Int, now: Int64) -> [UInt8] {
        var payload: [UInt8] = []
        payload.append(number: UInt64(validLength))
        payload.append(number: earliest)
        payload.append(number: latest)
        while payload.count < Segment.sealSize - BatchHeader.size { payload.append(0) }
        let header = BatchHeader(
            kind: BatchHeader.Kind.seal, payloadLength: UInt32(payload.count), count: 0, firstPosition: endPosition,
            durablePosition: durablePosition, receivedAt: now)
        return BatchHeader.batch(header, payload: payload, seed.at(offset))
    }

    /// - Returns: nil if there is no whole seal.
    static func read(_ file: any DiskFile, fileSize: Int, _ seed: ChecksumSeed) throws(SystemError) -> Seal? {
        let offset = fileSize - Segment.sealSize
        guard offset >= 0 else { return nil }
        var bytes: [UInt8] = []
        guard try file.read(Segment.sealSize, at: offset, appendingTo: &bytes) == Segment.sealSize else { return nil }
        let span = bytes.span.raw
        guard let header = BatchHeader(span, at: 0, seed.at(offset)), header.kind == BatchHeader.Kind.seal,
            header.payloadLength >= 24, header.payloadIsIntact(in: span, headerAt: 0, seed.at(offset))
        else { return nil }
        let length = span.number(UInt64.self, at: BatchHeader.size)
        guard length <= UInt64(offset) else { return nil }
        return Seal(
            validLength: Int(length), endPosition: header.firstPosition, durablePosition: header.durablePosition,
            earliest: span.number(Int64.self, at: BatchHeader.size + 8),
            latest: span.number(Int64.self, at: BatchHeader.size + 16))
    }
}
