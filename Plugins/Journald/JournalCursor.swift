/// The place of an entry in the journal, as journald writes it:
///
///     s=2f2df8f0f9a14d8587b81343e6b09c02;i=1f;b=5601567b1d114a4ca7932302309d3738;m=78f48;t=6423e77f2a5c0;x=d8c1…
///
/// Such a text has up to 145 bytes. As a position it is packed into 64: two ids of 16 bytes and four numbers, the most
/// significant byte first.
struct JournalCursor: Equatable {
    static let packedLength = 64

    /// The id of the sequence that `number` counts in: that of the files of one journald.
    var sequence: [UInt8]
    /// The entry's number in its sequence.
    var number: UInt64
    var boot: [UInt8]
    /// Microseconds since the boot.
    var monotonic: UInt64
    /// Microseconds since 1970.
    var realtime: UInt64
    /// The XOR of the hashes of the entry's fields.
    var hash: UInt64

    init?(_ text: String) {
        var values: [Character: Substring] = [:]
        for part in text.split(separator: ";", omittingEmptySubsequences: false) {
            guard let key = part.first, part.dropFirst().first == "=", values[key] == nil else { return nil }
            values[key] = part.dropFirst(2)
        }
        guard values.count == 6, let sequence = values["s"].flatMap(Self.id),
            let number = values["i"].flatMap(Self.number),
            let boot = values["b"].flatMap(Self.id), let monotonic = values["m"].flatMap(Self.number),
            let realtime = values["t"].flatMap(Self.number), let hash = values["x"].flatMap(Self.number)
        else { return nil }
        (self.sequence, self.number, self.boot) = (sequence, number, boot)
        (self.monotonic, self.realtime, self.hash) = (monotonic, realtime, hash)
    }

    init?(packed: [UInt8]) {
        guard packed.count == Self.packedLength else { return nil }
        func number(_ start: Int) -> UInt64 { packed[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        (sequence, boot) = (Array(packed[0..<16]), Array(packed[16..<32]))
        (self.number, monotonic, realtime, hash) = (number(32), number(40), number(48), number(56))
    }

    var packed: [UInt8] {
        var bytes = sequence + boot
        for number in [number, monotonic, realtime, hash] {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> shift))
            }
        }
        return bytes
    }

    var text: String {
        "s=\(Self.text(sequence));i=\(Self.text(number));b=\(Self.text(boot));m=\(Self.text(monotonic));"
            + "t=\(Self.text(realtime));x=\(Self.text(hash))"
    }

    /// The same on each reading, and different for each entry.
    var messageID: String { "\(Self.text(sequence))-\(Self.text(number))-\(Self.text(hash))" }

    var bootText: String { Self.text(boot) }

    private static func text(_ number: UInt64) -> String { String(number, radix: 16) }

    private static func text(_ id: [UInt8]) -> String {
        id.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// 32 hexadecimal digits.
    private static func id(_ text: Substring) -> [UInt8]? {
        let digits = text.utf8.compactMap(digit)
        guard digits.count == 32, text.utf8.count == 32 else { return nil }
        return stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// 1 to 16 hexadecimal digits.
    private static func number(_ text: Substring) -> UInt64? {
        let digits = text.utf8.compactMap(digit)
        guard 1...16 ~= digits.count, digits.count == text.utf8.count else { return nil }
        return digits.reduce(0) { $0 << 4 | UInt64($1) }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
