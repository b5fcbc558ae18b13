import Platform

/// The numbers of a destination's removed dead letters: retried with success, or dropped. A small text file beside the
/// letters, replaced as a whole, that ends with its own checksum. Format.md specifies the layout. If it is lost,
/// letters that are still in a file come back: they are retried again instead of lost.
struct RemovedLetters: Equatable {
    static let name = "removed"
    private static let limit = 256 << 20
    private static let title = "penstock-removed 1"

    private(set) var numbers = RangeSet<UInt64>()
    /// The file exists but is damaged.
    private(set) var isDamaged = false

    func contains(_ number: UInt64) -> Bool { numbers.contains(number) }

    func contains(all range: Range<UInt64>) -> Bool { count(in: range) == range.length }

    /// The number of removed letters in a range.
    func count(in range: Range<UInt64>) -> UInt64 {
        numbers.ranges.reduce(0) { $0 + $1.clamped(to: range).length }
    }

    /// The number of letters in a set that are not removed.
    func countOfOthers(in set: RangeSet<UInt64>) -> UInt64 {
        set.ranges.reduce(0) { $0 + UInt64($1.count) - count(in: $1) }
    }

    mutating func insert(_ number: UInt64) { numbers.insert(contentsOf: number..<number &+ 1) }

    /// Drops the numbers below, for which no file exists.
    mutating func forget(below number: UInt64) { numbers.remove(contentsOf: 0..<number) }

    static func read(in directory: String, _ disk: any Disk) throws(SystemError) -> RemovedLetters {
        guard let bytes = try JournalContext.contents(directory + "/" + name, limit: limit, disk) else {
            return RemovedLetters()
        }
        guard let removed = RemovedLetters(bytes) else {
            var none = RemovedLetters()
            none.isDamaged = true
            return none
        }
        return removed
    }

    /// Durable when it returns. After a crash either the old or the new file is there.
    func write(in directory: String, _ disk: any Disk) throws(SystemError) {
        let path = directory + "/" + Self.name
        let file = try disk.open(path + ".new", .createOrReadWrite)
        try file.truncate(to: 0)
        try file.write(encoded.span, at: 0)
        try file.sync()
        try disk.rename(path + ".new", to: path)
        try disk.syncDirectory(directory)
    }

    var encoded: [UInt8] {
        var text = Self.title + "\n"
        for range in numbers.ranges { text += "\(range.lowerBound) \(range.upperBound)\n" }
        let sum = String(Checksum.of(Array(text.utf8).span.raw), radix: 16)
        return Array((text + "crc32c " + String(repeating: "0", count: 8 - sum.count) + sum + "\n").utf8)
    }

    init() {}

    init?(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), bytes.last == UInt8(ascii: "\n") else { return nil }
        var lines = text.split(separator: "\n")
        guard let last = lines.popLast(), last.hasPrefix("crc32c "), let sum = UInt32(last.dropFirst(7), radix: 16),
            Checksum.of(bytes.span.raw.extracting(0..<bytes.count - last.utf8.count - 1)) == sum,
            lines.first.map(String.init) == Self.title
        else { return nil }
        for line in lines.dropFirst() {
            let bounds = line.split(separator: " ").map { UInt64($0) }
            guard bounds.count == 2, let first = bounds[0], let end = bounds[1], first < end else { return nil }
            numbers.insert(contentsOf: first..<end)
        }
    }
}
