import Glibc

/// Points in time as text, in UTC.
package enum CalendarTime {
    /// - Parameter format: as in strftime(3); the result is shorter than 64 bytes.
    /// - Returns: nil: the year is beyond what the C library counts to.
    package static func text(secondsSince1970 seconds: Int64, _ format: String) -> String? {
        var seconds = time_t(seconds)
        var fields = unsafe tm()
        guard unsafe gmtime_r(&seconds, &fields) != nil else { return nil }
        var text = [CChar](repeating: 0, count: 64)
        let length = unsafe strftime(&text, text.count, format, &fields)
        return String(decoding: text[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
