import Events
import Foundation

/// A path with strftime(3) conversions, which are filled in from a time, and with values of an event's fields.
///
/// Filling in takes a microsecond or two. The result is therefore kept for the second it is valid for, or for the
/// minute if no conversion shows seconds.
struct PathTemplate {
    /// The texts for all times in `from..<until` (nanoseconds since 1970-01-01 UTC).
    struct Filled: Equatable {
        /// One per piece; empty for a value.
        var texts: [String]
        var from: Int64
        var until: Int64

        @inline(__always)
        func holds(_ time: Int64) -> Bool { time >= from && time < until }

        /// The path, if the template has no values.
        var path: String { texts.joined() }

        /// The path with these values.
        func path(_ values: [String]) -> String {
            var rest = values[...]
            return texts.map { $0.isEmpty ? rest.popFirst() ?? "" : $0 }.joined()
        }
    }

    typealias Piece = FileDestinationOptions.PathPiece

    let pieces: [Piece]
    /// The fields whose values it contains.
    let fields: [FieldPath]
    /// For each field: the signs that must not occur in its value.
    let reserved: [[UInt8]]
    /// It contains neither conversions nor values.
    let isFixed: Bool
    /// It contains conversions.
    let showsTime: Bool
    private let zone: TimeZone?
    /// Seconds.
    private let step: Int64
    private var last: Filled?

    /// - Throws: when the time zone is unknown, or different values could make the same path.
    init(_ pieces: [Piece], timezone: String? = nil) throws {
        let pattern = Self.pattern(pieces)
        guard pattern.hasPrefix("/"), !pattern.utf8.contains(0) else {
            throw FileDestinationError("\(pattern) is not an absolute path")
        }
        self.pieces = pieces
        fields = pieces.compactMap { if case .value(let path) = $0 { path } else { nil } }
        reserved = try PathNames.reserved(in: pieces)
        let conversions = pieces.flatMap { piece -> [UInt8] in
            if case .text(let text) = piece { Self.conversions(in: text) } else { [] }
        }
        showsTime = !conversions.isEmpty
        isFixed = conversions.isEmpty && fields.isEmpty
        step = conversions.contains(where: "SsTcrX+".utf8.contains) ? 1 : 60
        if let timezone, timezone != "UTC" {
            guard let zone = TimeZone(identifier: timezone) else {
                throw FileDestinationError(
                    "the time zone \(timezone) is unknown on this machine;"
                        + " write it like Europe/Vienna, or install tzdata")
            }
            self.zone = zone
        } else {
            zone = nil
        }
    }

    /// Approximately as the operator wrote it.
    static func pattern(_ pieces: [Piece]) -> String {
        pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .value(let path): "{{ \(path.segments.joined(separator: ".")) }}"
            }
        }.joined()
    }

    /// - Parameter time: nanoseconds since 1970-01-01 UTC.
    mutating func filled(at time: Int64) throws -> Filled {
        if let last, last.holds(time) { return last }
        let size = step * 1_000_000_000
        let index = time >= 0 ? time / size : (time + 1) / size - 1
        let (from, low) = index.multipliedReportingOverflow(by: size)
        let (until, high) = from.addingReportingOverflow(size)
        guard !low, !high else { throw FileDestinationError("the receive time \(time) ns is outside of the calendar") }
        let texts = try pieces.map { piece in
            if case .text(let text) = piece { try fill(text, seconds: index * step) } else { "" }
        }
        let filled = Filled(texts: texts, from: from, until: until)
        last = filled
        return filled
    }

    private func fill(_ pattern: String, seconds: Int64) throws -> String {
        guard showsTime, pattern.utf8.contains(UInt8(ascii: "%")) else { return pattern }
        let offset = zone?.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))) ?? 0
        let abbreviation =
            zone.map { $0.abbreviation(for: Date(timeIntervalSince1970: Double(seconds))) ?? "" } ?? "UTC"
        var local = time_t(seconds) + offset
        var time = unsafe tm()
        guard unsafe gmtime_r(&local, &time) != nil else {
            throw FileDestinationError("\(pattern) cannot be filled in for the time \(seconds)")
        }
        unsafe time.tm_gmtoff = offset
        var buffer = [CChar](repeating: 0, count: FileRecord.maximumPath + 1)
        // tm_zone must be valid while strftime runs.
        let count = unsafe abbreviation.withCString { name in
            unsafe time.tm_zone = name
            return unsafe strftime(&buffer, buffer.count, pattern, &time)
        }
        guard count > 0 else {
            throw FileDestinationError(
                "\(pattern) is longer than \(FileRecord.maximumPath) bytes when filled in; shorten it")
        }
        return String(decoding: buffer.prefix(count).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The letters of the conversions: each follows a percent sign and its flags, width and modifier.
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
