import Platform

/// A whole batch whose checksums begin with another UUID, file name or offset than expected. It is recognized without
/// knowing these: both of its checksums begin with the same 32 bytes, and say so (`Checksum.beginAlike`).
///
/// A batch that was torn or damaged is no such batch, but for one in four thousand million.
enum ForeignBatch {
    /// Whether such a batch lies at `offset`, where none of this journal does.
    static func isWhole(in file: any DiskFile, at offset: Int, fileSize: Int) throws(SystemError) -> Bool {
        guard offset >= 0, fileSize - offset >= BatchHeader.size else { return false }
        var header: [UInt8] = []
        guard try file.read(BatchHeader.size, at: offset, appendingTo: &header) == BatchHeader.size else { return false }
        let fields = header.span.raw
        let length = Int(fields.number(UInt32.self, at: 8))
        guard fields.number(UInt32.self, at: 0) == BatchHeader.magic, length <= fileSize - offset - BatchHeader.size else { return false }
        var payload: [UInt8] = []
        guard try file.read(length, at: offset + BatchHeader.size, appendingTo: &payload) == length else { return false }
        return Checksum.beginAlike(
            (fields.extracting(0..<60), fields.number(UInt32.self, at: 60)),
            (payload.span.raw, fields.number(UInt32.self, at: 56)))
    }
}
