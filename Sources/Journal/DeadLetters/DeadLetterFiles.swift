import Platform

/// Reads one destination's files of dead letters: for the store, at its start and on request, and for the inspection,
/// which has no store.
struct DeadLetterFiles {
    private let path: String
    private let uuid: JournalUUID
    private let disk: any Disk
    private let protections: Protections
    /// The files in order, each with the number of its first letter and its size in bytes.
    let files: [(first: UInt64, bytes: Int)]
    /// The numbers of removed letters, which may still lie in a file.
    let removed: RemovedLetters

    /// - Parameter path: the destination's directory.
    init(
        _ path: String, _ uuid: JournalUUID, _ disk: any Disk, _ protections: Protections = .all
    ) throws(SystemError) {
        self.path = path
        self.uuid = uuid
        self.disk = disk
        self.protections = protections
        var files: [(first: UInt64, bytes: Int)] = []
        for first in try disk.list(path).compactMap(Segment.position(ofName:)).sorted() {
            files.append((first, try disk.status(path + "/" + Segment.name(first))?.size ?? 0))
        }
        self.files = files
        removed = try RemovedLetters.read(in: path, disk)
    }

    func path(_ first: UInt64) -> String { path + "/" + Segment.name(first) }

    func seed(_ first: UInt64) -> ChecksumSeed {
        ChecksumSeed(uuid: uuid, firstPosition: first, protections)
    }

    /// Reads a whole file and reports the letters that are missing from it.
    /// - Parameter following: the number of the next file's first letter.
    func scan(
        _ file: any DiskFile, _ first: UInt64, _ following: UInt64?, size: Int
    ) throws(SystemError) -> (scan: SegmentScan, gaps: [Gap]) {
        let scan = try SegmentScan(file, seed(first), first: first, limit: size, following: following)
        let durable = following ?? scan.durable
        var gaps = scan.gaps(in: file.path, durable: durable)
        // A file that failed before anything in it was durable is followed by a file with the next number.
        let isFailed = scan.batches == 0 && durable == first + 1
        if scan.end < durable, !isFailed {
            let bytes = scan.validLength..<max(size, scan.validLength)
            gaps.append(
                Gap(
                    positions: scan.end..<durable, reason: bytes.isEmpty ? .endMissing : .damaged, path: file.path,
                    bytes: bytes))
        }
        // A file whose letters are all removed is deleted, even between two others, so its numbers are no gap.
        return (scan, gaps.filter { !$0.bytes.isEmpty || !removed.contains(all: $0.positions) })
    }

    /// Calls `body` for every whole letter that is not removed, in order, until it returns false.
    /// - Parameters:
    ///   - number: the number of the first letter wanted.
    ///   - isWanted: called before each batch; false ends the reading.
    func forEach(
        from number: UInt64 = 0, while isWanted: () -> Bool = { true }, _ body: (UInt64, StoredDeadLetter) -> Bool
    ) throws(SystemError) {
        for (index, (first, bytes)) in files.enumerated() {
            let following = index + 1 < files.count ? files[index + 1].first : .max
            // The file may have been removed since the directory was listed.
            guard following > number, try disk.status(path(first)) != nil else { continue }
            var walker = SegmentWalker(
                try disk.open(path(first), .readOnly), seed: seed(first), limit: bytes, verifying: true)
            walk: while true {
                guard isWanted() else { return }
                switch try walker.next() {
                case .batch(let header, let offset, true) where header.kind == BatchHeader.Kind.deadLetters:
                    // This file failed, and this batch was written again to the next file.
                    if header.firstPosition >= following { break walk }
                    if header.endPosition <= number { continue }
                    guard read(header, walker.payload(of: header, at: offset), from: number, body) else { return }
                case .batch, .hole: continue
                case .end: break walk
                }
            }
        }
    }

    private func read(
        _ header: BatchHeader, _ payload: RawSpan, from first: UInt64, _ body: (UInt64, StoredDeadLetter) -> Bool
    ) -> Bool {
        var place = 0
        for number in header.firstPosition..<header.endPosition {
            guard let letter = StoredDeadLetter.decode(payload, at: &place) else { return true }
            if number >= first, !removed.contains(number), !body(number, letter) { return false }
        }
        return true
    }

    /// A destination's name as a directory name: every byte other than letters, digits, `-`, `_`, and dots that are not
    /// first, becomes %XX.
    static func directoryName(of destination: String) -> String {
        var isFirst = true
        return PercentEncoding.encode(destination.utf8) { byte in
            defer { isFirst = false }
            return PercentEncoding.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                || (byte == UInt8(ascii: ".") && !isFirst)
        }
    }
}
