import Platform

/// Removes old files: only files whose path the template or a rotation can make, and that are no longer written to.
///
/// Never removed: open files; files that the template can name at the current time, whatever the values; and, if the
/// path has no strftime(3) conversion to tell files of different times apart, all files that were not rotated.
final class FileRetention {
    /// How often it looks for old files.
    static let interval = Duration.seconds(10)
    /// The most files to consider: more than anybody keeps, and few enough for memory.
    private static let maximumFiles = 1_000_000

    private struct Candidate {
        var path: String
        var size: Int
        /// When it was last written to, nanoseconds since 1970-01-01 UTC.
        var modifiedAt: Int64
    }

    private let keep: FileDestinationOptions.Keep
    private var template: PathTemplate
    private let pattern: PathPattern

    /// nil: all files are kept.
    init?(_ options: FileDestinationOptions) throws {
        guard options.keep != .init() else { return nil }
        keep = options.keep
        template = try PathTemplate(options.path, timezone: options.timezone)
        pattern = PathPattern(options.path)
    }

    /// - Parameters:
    ///   - now: nanoseconds since 1970-01-01 UTC.
    ///   - live: the paths of open files.
    /// - Returns: the removed files; nil: none.
    func removeOld(now: Int64, live: Set<String>, _ disk: any Disk) throws -> (files: Int, bytes: Int, last: String)? {
        let current = PathPattern(template.pieces, texts: try template.filled(at: now).texts)
        var candidates: [Candidate] = []
        try collect(
            "/" + pattern.fixed.joined(separator: "/"), pattern.fixed.count, current, isCurrent: true, live, disk,
            &candidates)
        candidates.sort { ($0.modifiedAt, $0.path) > ($1.modifiedAt, $1.path) }
        var kept = (files: 0, bytes: 0)
        var removed = (files: 0, bytes: 0, last: "")
        for candidate in candidates {
            let isOld = keep.time.map { now.saturatingSubtract(candidate.modifiedAt) > $0.inNanoseconds } ?? false
            let isBeyond = keep.files.map { kept.files >= $0 } ?? false
            let isTooMuch = keep.size.map { kept.bytes.saturatingAdd(candidate.size) > $0 } ?? false
            guard isOld || isBeyond || isTooMuch else {
                kept.files += 1
                kept.bytes = kept.bytes.saturatingAdd(candidate.size)
                continue
            }
            try disk.remove(candidate.path)
            try removeEmptyDirectories(above: candidate.path, disk)
            removed = (removed.files + 1, removed.bytes.saturatingAdd(candidate.size), candidate.path)
        }
        return removed.files == 0 ? nil : removed
    }

    /// Searches one directory and the directories below it.
    /// - Parameters:
    ///   - number: the index of the path's name that is matched in this directory.
    ///   - isCurrent: the names above belong to the current time.
    private func collect(
        _ directory: String, _ number: Int, _ current: PathPattern, isCurrent: Bool, _ live: Set<String>,
        _ disk: any Disk,
        _ candidates: inout [Candidate]
    ) throws {
        guard try disk.status(directory)?.isDirectory == true else { return }
        let isLast = number == pattern.names.count - 1
        for name in try disk.list(directory) where candidates.count < Self.maximumFiles {
            let bytes = Array(name.utf8)
            let path = directory == "/" ? "/" + name : directory + "/" + name
            let isPlain = pattern.matches(bytes, at: number)
            let isOfNow = isCurrent && isPlain && current.matches(bytes, at: number)
            guard isLast else {
                if isPlain {
                    try collect(path, number + 1, current, isCurrent: isOfNow, live, disk, &candidates)
                }
                continue
            }
            // Rotated files are complete, whatever their time.
            guard pattern.matchesRotated(bytes) || isPlain && template.showsTime && !isOfNow, !live.contains(path),
                let status = try disk.status(path), !status.isDirectory,
                let modifiedAt = try disk.modificationTime(path)
            else { continue }
            candidates.append(Candidate(path: path, size: status.size, modifiedAt: modifiedAt))
        }
    }

    /// Removes directories of the template that are now empty.
    private func removeEmptyDirectories(above path: String, _ disk: any Disk) throws {
        var below = directory(of: path)
        for _ in 0..<max(0, pattern.names.count - 1 - pattern.fixed.count) {
            guard try disk.list(below).isEmpty else { return }
            try disk.removeEmptyDirectory(below)
            below = directory(of: below)
        }
    }
}
