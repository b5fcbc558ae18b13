import Platform

/// Names of rotated files: `events.ndjson.gz` becomes `events.2026-01-31T12-00-00Z.1.ndjson.gz`.
enum RotatedName {
    /// - Parameters:
    ///   - name: a file name without its directory.
    ///   - seconds: the time of the rotation, in seconds since 1970-01-01 UTC.
    ///   - number: distinguishes rotations within one second.
    static func make(from name: String, seconds: Int64, number: Int) -> String {
        let (stem, tail) = split(
            Array(name.utf8), isDot: { $0 == UInt8(ascii: ".") },
            isCompression: { $0.elementsEqual(".gz".utf8) || $0.elementsEqual(".zst".utf8) })
        return
            "\(String(decoding: stem, as: UTF8.self)).\(time(seconds))"
            + ".\(number)\(String(decoding: tail, as: UTF8.self))"
    }

    /// Splits before the extension; a compression extension and the one before it stay together. A leading dot is part
    /// of the name.
    static func split<Part>(
        _ name: [Part], isDot: (Part) -> Bool, isCompression: (ArraySlice<Part>) -> Bool
    ) -> (stem: [Part], tail: [Part]) {
        func cut(_ name: ArraySlice<Part>) -> Int {
            guard let dot = name.lastIndex(where: isDot), dot != name.startIndex else { return name.endIndex }
            return dot
        }
        var place = cut(name[...])
        if isCompression(name[place...]) { place = cut(name[..<place]) }
        return (Array(name[..<place]), Array(name[place...]))
    }

    static func time(_ seconds: Int64) -> String {
        CalendarTime.text(secondsSince1970: seconds, "%Y-%m-%dT%H-%M-%SZ") ?? "\(seconds)"
    }
}
