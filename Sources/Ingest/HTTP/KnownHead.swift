import Events

/// A request's head that may come again, as the bytes that it was. Its request says how long its body is, so nothing is
/// left to parse when these bytes come again at the beginning of a request.
struct KnownHead {
    /// Longer ones are parsed each time.
    private static let longest = 1024

    let head: HTTPRequestHead
    let bytes: [UInt8]
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
        guard copy.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return nil }
        self.head = head
        self.bytes = copy
    }

    /// Whether a request begins with this head.
    func begins(_ request: Span<UInt8>) -> Bool {
        request.count >= bytes.count && request.extracting(first: bytes.count).hasBytes(of: bytes.span)
    }
}
