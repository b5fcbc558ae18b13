/// An event that a destination refused for good.
package struct DeadLetter: Sendable, Equatable {
    /// The event's journal position.
    package var position: UInt64
    /// Nanoseconds since 1970-01-01 UTC: when it was given up.
    package var time: Int64
    /// When the event was received; nil: a letter of an early version, which did not say.
    package var receivedAt: Int64?
    /// How often it was offered.
    package var attempts: UInt32
    package var messageID: String
    package var reason: String
    /// What the service answered, as far as it was kept.
    package var answer: String
    /// The event's JSON as the client sent it, or, where the journal had lost that, as it was to be sent.
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

// A record: 40 bytes, the texts, the event, and zeros up to a multiple of eight. Format.md has the layout.
extension DeadLetter {
    private static let headerSize = 40
    private static let textLimit = 4096

    /// What it takes in a batch, at most.
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

    /// At most 4 KiB, cut between characters.
    private static func clipped(_ text: String) -> [UInt8] {
        if text.utf8.count <= textLimit { return Array(text.utf8) }
        var end = text.utf8.index(text.startIndex, offsetBy: textLimit)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return Array(text.utf8[..<end])
    }

    /// Reads the record at `place` and moves on behind it; nil if there is none that makes sense.
    static func decode(_ bytes: RawSpan, at place: inout Int) -> DeadLetter? {
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
        let letter = DeadLetter(
            position: bytes.number(UInt64.self, at: place + 8), time: bytes.number(Int64.self, at: place + 16),
            receivedAt: receivedAt == 0 ? nil : receivedAt,
            attempts: bytes.number(UInt32.self, at: place), messageID: texts[0], reason: texts[1], answer: texts[2],
            event: bytes.array(start..<start + event))
        place += size.paddedTo8
        return letter
    }
}
