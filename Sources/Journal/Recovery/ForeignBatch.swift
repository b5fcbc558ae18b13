import Platform

/// A whole batch of another journal, or from another place: its checksums start from another UUID, file name or offset
/// than expected. These values need not be known to recognize it: both of its checksums start from the same 32 bytes,
/// which shows in their values (`Checksum.beginAlike`).
///
/// A torn or damaged batch passes this test by chance only: one in four billion.
enum ForeignBatch {
    /// Whether such a batch lies at `offset`, where no batch of this journal lies.
    static func isWhole(in file: any DiskFile, at offset: Int, fileSize: Int) throws(SystemError) -> Bool {
        guard offset >= 0, fileSize - offset >= BatchHeader.size else { return false }
        var header: [UInt8] = []
        guard try file.read(BatchHeader.size, at: offset, appendingTo: &header) == BatchHeader.size else {
            return false
        }
        let fields = header.span.raw
        let length = Int(fields.number(UInt32.self, at: 8))
        guard fields.number(UInt32.self, at: 0) == BatchHeader.magic, length <= fileSize - offset - BatchHeader.size
        else { return false }
        var payload: [UInt8] = []
        guard try file.read(length, at: offset + BatchHeader.size, appendingTo: &payload) == length else {
            return false
        }
        return Checksum.beginAlike(
            (fields.extracting(0..<60), fields.number(UInt32.self, at: 60)),
            (payload.span.raw, fields.number(UInt32.self, at: 56)))
    }
}
