import Foundation

/// A path with strftime(3) conversions, filled in from a time.
///
/// Filling in costs a microsecond or two, so the result is kept for the second or, where the
/// conversions show none, the minute it holds for.
struct PathTemplate {
    /// The path of all times in `from..<until` (nanoseconds since 1970-01-01 UTC).
    struct Filled: Equatable {
        var path: String
        var from: Int64
        var until: Int64

        @inline(__always)
        func holds(_ time: Int64) -> Bool { time >= from && time < until }
    }

    let pattern: String
    /// There are no conversions in it.
    let isFixed: Bool
    private let zone: TimeZone?
    /// Seconds.
    private let step: Int64
    private var last: Filled?

    /// - Throws: when there is no such time zone.
    init(_ pattern: String, timezone: String? = nil) throws {
        guard pattern.hasPrefix("/"), !pattern.utf8.contains(0) else {
            throw FileDestinationError("\(pattern) is not an absolute path")
        }
        self.pattern = pattern
        let conversions = Self.conversions(in: pattern)
        isFixed = conversions.isEmpty
        step = conversions.contains(where: "SsTcrX+".utf8.contains) ? 1 : 60
        if let timezone, timezone != "UTC" {
            guard let zone = TimeZone(identifier: timezone) else {
                throw FileDestinationError(
                    "there is no time zone \(timezone) on this machine; write it as in Europe/Vienna, or install tzdata")
            }
            self.zone = zone
        } else {
            zone = nil
        }
    }

    /// - Parameter time: nanoseconds since 1970-01-01 UTC.
    mutating func filled(at time: Int64) throws -> Filled {
        if let last, last.holds(time) { return last }
        let size = step * 1_000_000_000
        let index = time >= 0 ? time / size : (time + 1) / size - 1
        let (from, low) = index.multipliedReportingOverflow(by: size)
        let (until, high) = from.addingReportingOverflow(size)
        guard !low, !high else { throw FileDestinationError("a receive time of \(time) ns is beyond the calendar") }
        let filled = Filled(path: try fill(seconds: index * step), from: from, until: until)
        last = filled
        return filled
    }

    private func fill(seconds: Int64) throws -> String {
        guard !isFixed else { return pattern }
        let offset = zone?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))) ?? 0
        let abbreviation = zone.map { $0.abbreviation(for: Date(timeIntervalSince1970: Double(seconds))) ?? "" } ?? "UTC"
        var local = time_t(seconds) + offset
        var time = unsafe tm()
        guard unsafe gmtime_r(&local, &time) != nil else {
            throw FileDestinationError("\(pattern) cannot be filled in for the time \(seconds)")
        }
        unsafe time.tm_gmtoff = offset
        var buffer = [CChar](repeating: 0, count: FileState.maximumPath + 1)
        // tm_zone must live as long as strftime runs.
        let count = unsafe abbreviation.withCString { name in
            unsafe time.tm_zone = name
            return unsafe strftime(&buffer, buffer.count, pattern, &time)
        }
        guard count > 0 else {
            throw FileDestinationError("\(pattern) is longer than \(FileState.maximumPath) bytes when filled in; shorten it")
        }
        return String(decoding: buffer.prefix(count).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The conversions' letters: what follows a percent sign and its flags, width and modifier.
    private static func conversions(in pattern: String) -> [UInt8] {
        var letters: [UInt8] = []
        var rest = Array(pattern.utf8)[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[(percent + 1)...].drop { "_-^#EO0123456789".utf8.contains($0) }
            if let letter = rest.popFirst() { letters.append(letter) }
        }
        return letters
    }
}
