#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// The spool cannot be read at the moment: the process has no descriptor or no memory for it. The events are still
/// there.
package struct SpoolUnavailable: Error {
    package var code: Int32

    init(code: Int32) { self.code = code }

    /// Takes errno. Returns nil if it has a reason that will not pass.
    init?(errno code: Int32) {
        guard [EMFILE, ENFILE, ENOMEM].contains(code) else { return nil }
        self.code = code
    }

    /// What to do about it.
    var advice: String { code == ENOMEM ? "free memory" : "close files, or raise the limit of open files" }
}

/// The events of one process on disk: a directory with append-only segments `1.ndjson`, `2.ndjson`, …, the file
/// `acknowledged` and a lock that identifies the owner.
///
/// A segment is plain NDJSON, which `penstock send` also accepts. Positions are byte offsets from the beginning of the
/// first segment, across all segments. A segment is deleted when all of it is acknowledged. Use a store from one
/// thread.
final class SpoolStore {
    private struct Segment {
        var number: Int
        var start: Int
        var end: Int
    }

    /// A file with a larger number was not written by the SDK.
    private static let largestNumber = 1 << 60

    private let path: String
    private let lock: SpoolLock
    private let segmentBytes: Int
    private var segments: [Segment] = []
    private(set) var acknowledged = 0
    private(set) var sent = 0
    private(set) var end = 0
    /// The file `acknowledged`, which stores the acknowledged position.
    private var position: Descriptor?

    private struct OpenSegment {
        var file: Descriptor
        var number: Int
    }
    private var writing: OpenSegment?
    private var reading: OpenSegment?

    /// Creates a store in an existing directory, or takes over a store whose process has ended.
    /// - Returns: nil if another process holds the store, or it cannot be opened; errno has the reason.
    init?(_ path: String, segmentBytes: Int) throws(SpoolUnavailable) {
        let isNew = unsafe mkdir(path, 0o700) == 0
        if !isNew, errno != EEXIST { return nil }
        guard let lock = SpoolLock(store: path) else {
            let code = errno
            // Fails if another process has begun to use the directory.
            if isNew { unsafe rmdir(path) }
            errno = code
            if let problem = SpoolUnavailable(errno: code) { throw problem }
            return nil
        }
        self.path = path
        self.lock = lock
        self.segmentBytes = segmentBytes
        do throws(SpoolUnavailable) {
            try recover()
        } catch {
            if isNew { removeIfEmpty() }
            throw error
        }
    }

    var unsent: Int { end - sent }
    var unacknowledged: Int { end - acknowledged }

    private func file(_ number: Int) -> String { "\(path)/\(number).ndjson" }

    // MARK: Writing

    /// Appends whole lines.
    /// - Returns: False if the lines cannot be written, with the reason in errno. Nothing is appended then.
    func append(_ lines: [UInt8]) -> Bool {
        let fits =
            segments.last.map { $0.number == writing?.number && $0.end - $0.start + lines.count <= segmentBytes }
            ?? false
        if !fits {
            let number = (segments.last?.number ?? 0) + 1
            guard let file = Descriptor(opening: file(number), O_WRONLY | O_CREAT | O_APPEND) else { return false }
            writing = OpenSegment(file: file, number: number)
            segments.append(Segment(number: number, start: end, end: end))
        }
        guard writing?.file.write(lines) ?? false else {
            let code = errno
            let last = segments[segments.count - 1]
            if let file = writing?.file.number { _ = ftruncate(file, off_t(last.end - last.start)) }
            errno = code
            return false
        }
        end += lines.count
        segments[segments.count - 1].end = end
        return true
    }

    /// Marks the next unsent bytes as sent, because they are already in flight.
    func skipSending(_ bytes: Int) { sent += bytes }

    // MARK: Reading

    /// Returns the next unsent lines, about the given number of bytes; nil if they cannot be read.
    func next(_ bytes: Int) throws(SpoolUnavailable) -> LineBlock? {
        guard let segment = segments.first(where: { $0.end > sent }) else { return nil }
        if reading?.number != segment.number {
            reading = Descriptor(opening: file(segment.number), O_RDONLY).map {
                OpenSegment(file: $0, number: segment.number)
            }
            if reading == nil, let problem = SpoolUnavailable(errno: errno) { throw problem }
        }
        var wanted = min(bytes, segment.end - sent)
        while let block = reading?.file.read(wanted, at: sent - segment.start), !block.isEmpty {
            if let last = block.lastIndex(of: UInt8(ascii: "\n")) {
                let lines = Array(block[...last])
                sent += lines.count
                return LineBlock(bytes: lines, lines: lines.count { $0 == UInt8(ascii: "\n") })
            }
            // The next line is longer than the block.
            guard block.count == wanted, wanted < segment.end - sent else { return nil }
            wanted = min(wanted * 2, segment.end - sent)
        }
        return nil
    }

    /// Marks everything that is not acknowledged as unsent.
    func rewind() { sent = acknowledged }

    /// Skips data that cannot be read: the rest of the segment that is being sent.
    /// - Returns: How many bytes were skipped.
    func skipUnreadable() -> Int {
        guard let segment = segments.first(where: { $0.end > sent }) else { return 0 }
        defer { sent = segment.end }
        return segment.end - sent
    }

    // MARK: Acknowledging

    func acknowledge(bytes: Int) {
        acknowledged = min(acknowledged + bytes, end)
        sent = max(sent, acknowledged)
        while let first = segments.first, first.end <= acknowledged {
            // The next append starts a new segment.
            if writing?.number == first.number { writing = nil }
            if reading?.number == first.number { reading = nil }
            unsafe unlink(file(first.number))
            segments.removeFirst()
        }
        note()
    }

    /// Acknowledges the first unacknowledged lines. They have been read before.
    func acknowledge(lines: Int) {
        guard lines > 0, let segment = segments.first(where: { $0.end > acknowledged }),
            let file = Descriptor(opening: file(segment.number), O_RDONLY),
            let rest = file.read(segment.end - acknowledged, at: acknowledged - segment.start)
        else { return }
        acknowledge(bytes: rest.length(ofLines: lines))
    }

    /// Stores the acknowledged position. If it is lost, events are sent twice, with the same messageId.
    private func note() {
        let first = segments.first
        let text = "\(first?.number ?? 0) \(acknowledged - (first?.start ?? acknowledged))"
        if position == nil {
            position = Descriptor(opening: path + "/acknowledged", O_WRONLY | O_CREAT)
        }
        // Pad to a fixed length, so that no part of an older, longer position remains.
        let line = Array((text + String(repeating: " ", count: max(0, 43 - text.utf8.count)) + "\n").utf8)
        if let number = position?.number { _ = unsafe pwrite(number, line, line.count, 0) }
    }

    // MARK: Recovering

    /// How much of the file `acknowledged` is read in bytes: more than the SDK writes.
    private static let notedBytes = 128

    private func recover() throws(SpoolUnavailable) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw SpoolUnavailable(code: errno)
        }
        let numbers = names.filter { $0.hasSuffix(".ndjson") }.compactMap { Int($0.dropLast(7)) }.filter {
            (1...Self.largestNumber).contains($0)
        }.sorted()
        let position = Descriptor(opening: path + "/acknowledged", O_RDONLY)
        if position == nil, let problem = SpoolUnavailable(errno: errno) { throw problem }
        let noted = position?.read(Self.notedBytes, at: 0) ?? []
        let words = String(decoding: noted, as: UTF8.self).split { $0 == " " || $0 == "\n" }.compactMap { Int($0) }
        for number in numbers {
            guard let file = Descriptor(opening: file(number), O_RDWR), let length = Self.cutTornLine(file) else {
                if let problem = SpoolUnavailable(errno: errno) { throw problem }
                continue
            }
            segments.append(Segment(number: number, start: end, end: end + length))
            end += length
            guard words.count == 2, number == words[0], (1...max(1, length)).contains(words[1]) else { continue }
            // Ignore a position that is not at the end of a line.
            if file.read(1, at: words[1] - 1) == [UInt8(ascii: "\n")] { acknowledged = end - length + words[1] }
        }
        sent = acknowledged
        acknowledge(bytes: 0)
    }

    /// Removes an incomplete line, which remains when the process is killed during a write.
    /// - Returns: The new length of the file; nil on failure.
    private static func cutTornLine(_ file: Descriptor) -> Int? {
        guard let size = file.size() else { return nil }
        var end = size
        while end > 0 {
            let count = min(64 << 10, end)
            guard let bytes = file.read(count, at: end - count) else { return nil }
            if let last = bytes.lastIndex(of: UInt8(ascii: "\n")) {
                end = end - count + last + 1
                break
            }
            end -= count
        }
        return end == size || ftruncate(file.number, off_t(end)) == 0 ? end : nil
    }

    /// Deletes the store if it holds no events.
    func removeIfEmpty() {
        guard unacknowledged == 0 else { return }
        for name in ["acknowledged", "lock"] { unsafe unlink(path + "/" + name) }
        unsafe rmdir(path)
    }
}
