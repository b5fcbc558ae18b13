import Events

/// A request's head that may come again, as the bytes that it was, except the digits of its Content-Length. Nothing
/// else of it is left to parse when these bytes come again at the beginning of a request.
struct KnownHead {
    /// Longer ones are parsed each time.
    private static let longest = 1024
    /// So many digits cannot overflow. A longer number is parsed.
    private static let mostDigits = 9

    private let head: HTTPRequestHead
    private let bytes: [UInt8]
    /// Where the digits are in `bytes`.
    private let digits: Range<Int>
    /// Bytes of memory.
    var heldBytes: Int { head.heldBytes + bytes.capacity }

    /// - Parameter bytes: the request's bytes up to its body.
    /// - Returns: nil: the end of such a request does not follow from its head, or it would need too much memory.
    init?(_ head: HTTPRequestHead, _ bytes: Span<UInt8>) {
        guard bytes.count <= Self.longest, bytes.count > 4, UInt8(ascii: "A")...UInt8(ascii: "Z") ~= bytes[0],
            head.keepsAlive, !head.isChunked, head.contentLength != nil, head.repeated.isEmpty,
            head.fields[.expect] == nil, head.fields[.transferEncoding] == nil
        else { return nil }
        var copy: [UInt8] = []
        copy.append(contentsOf: bytes)
        guard copy.suffix(4).elementsEqual("\r\n\r\n".utf8), let digits = Self.contentLength(in: copy) else {
            return nil
        }
        self.head = head
        self.bytes = copy
        self.digits = digits
    }

    /// Where the digits of the Content-Length are. The parser has found exactly one such field.
    private static func contentLength(in bytes: [UInt8]) -> Range<Int>? {
        let name = Array("\ncontent-length:".utf8)
        for start in 0..<max(0, bytes.count - name.count) where bytes[start] == name[0] {
            let field = bytes[start..<start + name.count]
            guard field.lazy.map(HTTPText.lowercased).elementsEqual(name) else { continue }
            let first = bytes[field.endIndex...].firstIndex { $0 != UInt8(ascii: " ") } ?? bytes.endIndex
            let end = bytes[first...].firstIndex { !isDigit($0) } ?? bytes.endIndex
            return first < end && bytes[end] == UInt8(ascii: "\r") ? first..<end : nil
        }
        return nil
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// The head of a request that begins with these bytes, and their number; nil: it begins with others, or with a part
    /// of them.
    func match(_ request: Span<UInt8>) -> (head: HTTPRequestHead, count: Int)? {
        let start = digits.lowerBound
        guard request.count > start, request.extracting(first: start).hasBytes(of: bytes.span.extracting(first: start))
        else { return nil }
        var end = start
        var length: UInt64 = 0
        while end < request.count, end - start < Self.mostDigits, Self.isDigit(request[end]) {
            length = length * 10 + UInt64(request[end] - UInt8(ascii: "0"))
            end += 1
        }
        let rest = bytes.span.extracting(digits.upperBound...)
        guard end > start, request.count - end >= rest.count,
            request.extracting(end..<end + rest.count).hasBytes(of: rest)
        else { return nil }
        var head = head
        head.contentLength = length
        return (head, end + rest.count)
    }
}
