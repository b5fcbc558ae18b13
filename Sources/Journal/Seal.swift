import Platform

/// What a segment says about itself once nothing will be added: a batch of its own kind in the
/// file's last 128 bytes. It spares a start the reading of every segment.
struct Seal: Equatable {
    /// Bytes of batches; what lies between there and the seal is no part of the journal.
    var validLength: Int
    /// The position after the segment's last event.
    var endPosition: UInt64
    /// Events that are missing below had been durable; those at or above are of a write that was
    /// interrupted.
    var durablePosition: UInt64
    var earliest: Int64
    var latest: Int64

    /// - Parameter offset: where the seal lies: the file's size less `Segment.sealSize`.
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

    /// - Returns: nil if there is no seal, or none that is whole.
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
