import Glibc

/// Names of rotated files: `events.ndjson.gz` becomes `events.2026-01-31T12-00-00Z.1.ndjson.gz`.
enum RotatedName {
    /// - Parameters:
    ///   - name: a file's name without its directory.
    ///   - seconds: of the rotation, since 1970-01-01 UTC.
    ///   - number: tells apart what was rotated within one second.
    static func make(from name: String, seconds: Int64, number: Int) -> String {
        let (stem, tail) = split(
            Array(name.utf8), isDot: { $0 == UInt8(ascii: ".") },
            isCompression: { $0.elementsEqual(".gz".utf8) || $0.elementsEqual(".zst".utf8) })
        return "\(String(decoding: stem, as: UTF8.self)).\(time(seconds)).\(number)\(String(decoding: tail, as: UTF8.self))"
    }

    /// Splits before the extension, and before the one in front of a compression's. A leading dot
    /// is part of the name.
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

    private static func time(_ seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var time = unsafe tm()
        guard unsafe gmtime_r(&seconds, &time) != nil else { return "\(seconds)" }
        var buffer = [CChar](repeating: 0, count: 40)
        let count = unsafe strftime(&buffer, buffer.count, "%Y-%m-%dT%H-%M-%SZ", &time)
        return String(decoding: buffer.prefix(count).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
