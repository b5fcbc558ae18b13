import Glibc

/// Names of rotated files: `events.ndjson.gz` becomes `events.2026-01-31T12-00-00Z.1.ndjson.gz`.
enum RotatedName {
    /// - Parameters:
    ///   - name: a file's name without its directory.
    ///   - seconds: of the rotation, since 1970-01-01 UTC.
    ///   - number: tells apart what was rotated within one second.
    static func make(from name: String, seconds: Int64, number: Int) -> String {
        let (stem, tail) = split(name)
        return "\(stem).\(time(seconds)).\(number)\(tail)"
    }

    /// Splits before the extension, and before the one in front of a compression's. A leading dot
    /// is part of the name.
    private static func split(_ name: String) -> (stem: String, tail: String) {
        func cut(_ text: String) -> (String, String) {
            guard let dot = text.lastIndex(of: "."), dot != text.startIndex else { return (text, "") }
            return (String(text[..<dot]), String(text[dot...]))
        }
        let (stem, tail) = cut(name)
        guard tail == ".gz" || tail == ".zst" else { return (stem, tail) }
        let (inner, innerTail) = cut(stem)
        return (inner, innerTail + tail)
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
