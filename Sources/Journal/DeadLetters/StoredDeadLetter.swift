/// An event that a destination rejected.
package struct StoredDeadLetter: Sendable, Equatable {
    /// The event's journal position.
    package var position: UInt64
    /// When delivery gave the event up, in nanoseconds since 1970-01-01 UTC.
    package var time: Int64
    /// When the event was received; nil for a letter of an early version, which did not store it.
    package var receivedAt: Int64?
    /// The number of attempts to deliver it.
    package var attempts: UInt32
    package var messageID: String
    package var reason: String
    /// The service's response, as far as it was kept.
    package var answer: String
    /// The event's JSON as the client sent it, or, if the journal has lost that, the JSON that was to be sent.
    package var event: [UInt8]

    package init(
        position: UInt64, time: Int64, receivedAt: Int64? = nil, attempts: UInt32, messageID: String, reason: String,
        answer: String, event: [UInt8]
    ) {
        self.position = position
        self.time = time
        self.receivedAt = receivedAt
        self.attempts = attempts
        self.messageID = messageID
        self.reason = reason
        self.answer = answer
        self.event = event
    }
}

// A record: 40 bytes, the texts, the event, and zeros up to a multiple of eight. Format.md specifies the layout.
extension StoredDeadLetter {
    private static let headerSize = 40
    private static let textLimit = 4096

    /// The maximum of bytes that the letter takes in a batch.
    var encodedSize: Int {
        let texts = [messageID, reason, answer].reduce(0) { $0 + min($1.utf8.count, Self.textLimit) }
        return (Self.headerSize + texts + event.count).paddedTo8
    }

    func encode(into bytes: inout [UInt8]) {
        let texts = [messageID, reason, answer].map { Self.clipped($0) }
        bytes.append(number: attempts)
        bytes.append(number: UInt32(clamping: event.count))
        bytes.append(number: position)
        bytes.append(number: time)
        for text in texts { bytes.append(number: UInt16(text.count)) }
        bytes.append(number: UInt16(0))
        bytes.append(number: receivedAt ?? 0)
        for text in texts { bytes.append(contentsOf: text) }
        bytes.append(contentsOf: event.prefix(Int(UInt32.max)))
        bytes.pad()
    }

    /// At most 4 KiB, cut at a character boundary.
    private static func clipped(_ text: String) -> [UInt8] {
        if text.utf8.count <= textLimit { return Array(text.utf8) }
        var end = text.utf8.index(text.startIndex, offsetBy: textLimit)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return Array(text.utf8[..<end])
    }

    /// Reads the record at `place` and advances `place` to its end; nil if the record is invalid.
    static func decode(_ bytes: RawSpan, at place: inout Int) -> StoredDeadLetter? {
        guard bytes.byteCount - place >= headerSize else { return nil }
        let event = Int(bytes.number(UInt32.self, at: place + 4))
        let lengths = (0..<3).map { Int(bytes.number(UInt16.self, at: place + 24 + 2 * $0)) }
        let size = headerSize + lengths.reduce(0, +) + event
        guard bytes.byteCount - place >= size.paddedTo8 else { return nil }
        var start = place + headerSize
        var texts: [String] = []
        for length in lengths {
            texts.append(String(decoding: bytes.array(start..<start + length), as: UTF8.self))
            start += length
        }
        let receivedAt = bytes.number(Int64.self, at: place + 32)
        let letter = StoredDeadLetter(
            position: bytes.number(UInt64.self, at: place + 8), time: bytes.number(Int64.self, at: place + 16),
            receivedAt: receivedAt == 0 ? nil : receivedAt,
            attempts: bytes.number(UInt32.self, at: place), messageID: texts[0], reason: texts[1], answer: texts[2],
            event: bytes.array(start..<start + event))
        place += size.paddedTo8
        return letter
    }
}
