import Events
import Testing

/// JSON to the letter of RFC 8259, with three limits: the line's size, its depth, and no half of a surrogate pair.
@Suite struct JSONSyntaxTests {
    private static let head = Array(#"{"type":"track","event":"e","userId":"u","properties":{"v":"#.utf8)
    private static let tail = Array("}}".utf8)
    private static let plain = Array(#"{"type":"page","userId":"u"}"#.utf8)

    @Test(arguments: JSONCase.values)
    func `a value is accepted with its bytes, or refused with its reason`(_ one: JSONCase) throws {
        let line = Self.head + one.bytes + Self.tail
        // The neighbors show that a refused line affects no other line.
        let scan = Scan(Self.plain + [10] + line + [10] + Self.plain + [10])
        switch one.expected {
        case .accepted:
            #expect(scan.refused.map(\.refusal) == [])
            let event = try #require(scan.accepted.dropFirst().first)
            #expect(Array(scan.bytes[Int(event.offset)..<Int(event.offset + event.length)]) == line)
        case .refused(let reason):
            #expect(scan.refused.map(\.refusal.reason) == [reason])
            #expect(scan.refused.map(\.line) == [1])
            #expect(scan.accepted.map(\.line) == [0, 2])
        }
    }

    /// What is left of the event's closing braces depends on the place of the line feed.
    @Test func `a line feed inside an event cuts it, even in white space or in a string`() {
        for value in ["\n1", "1\n", "[1,\n2]", "\"\n\""] {
            let scan = Scan(Self.head + Array(value.utf8) + Self.tail + [10])
            #expect(scan.accepted.isEmpty)
            #expect(scan.refused.map(\.refusal.reason) == [.invalidJSON, .invalidJSON])
        }
    }

    @Test func `keys follow the rules of strings`() {
        for one in JSONCase.values where one.bytes.first == UInt8(ascii: "\"") && one.bytes.count > 1 {
            let line = Self.head + Array("{".utf8) + one.bytes + Array(":1}".utf8) + Self.tail + [10]
            let scan = Scan(line)
            switch one.expected {
            case .accepted: #expect(scan.refused.map(\.refusal) == [], "\(one.testDescription)")
            case .refused(let reason): #expect(scan.refused.map(\.refusal.reason) == [reason], "\(one.testDescription)")
            }
        }
    }

    @Test(arguments: [
        ("\u{FEFF}", "", RefusalReason.invalidJSON), ("\0", "", .invalidJSON), ("", "\0", .invalidJSON),
        ("", ",", .invalidJSON), ("", "{}", .invalidJSON), ("", "]", .invalidJSON), ("", "\u{FEFF}", .invalidJSON),
        ("[", "]", .notAnObject), ("\u{c}", "", .invalidJSON), ("", "\u{c}", .invalidJSON), ("", "#", .invalidJSON),
        ("\u{1e}", "", .invalidJSON), ("data: ", "", .invalidJSON), ("\"", "\"", .invalidJSON),
    ]) func `an event with anything but white space around it is refused`(
        _ before: String, _ after: String, _ reason: RefusalReason
    ) {
        let line = before + String(decoding: Self.plain, as: UTF8.self) + after
        #expect(Scan.reason(line) == reason)
    }

    @Test(arguments: ["1", "-1.5e3", "true", "false", "null", #""text""#, #"{"type":"page"}"#, "[]", "[{}]", #""""#])
    func `a value that is no event is refused, whatever white space is around it`(_ value: String) {
        for line in [value, " \t\(value)\r"] {
            #expect(Scan.reason(line) == (value.hasPrefix("{") ? .noUserOrAnonymousID : .notAnObject))
        }
    }

    @Test func `white space around an event is not part of it`() throws {
        let scan = Scan(Array(" \t\r\t ".utf8) + Self.plain + Array("\r \t\r".utf8) + [10])
        let event = try #require(scan.accepted.first)
        #expect(Array(scan.bytes[Int(event.offset)..<Int(event.offset + event.length)]) == Self.plain)
    }

    @Test func `every escape of four hexadecimal digits is accepted, except halves of surrogate pairs`() {
        for unit in UInt32(0)...0xFFFF {
            let digits = String(unit, radix: 16)
            let escape = #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
            let line = #"{"type":"page","userId":"u","name":"\#(escape)"}"#
            let isHalf = (0xD800...0xDFFF).contains(unit)
            if (Scan.reason(line) == .invalidJSON) != isHalf { Issue.record("\(escape)") }
        }
    }

    @Test func `every byte after a backslash is refused, except the nine escapes`() {
        for byte in UInt8(0)...127 where byte != 10 {
            let line = Array(#"{"type":"page","userId":"u","name":"\"#.utf8) + [byte] + Array("0041\"}\n".utf8)
            #expect(Scan(line).accepted.isEmpty == !"\"\\/bfnrtu".utf8.contains(byte), "byte \(byte)")
        }
    }

    @Test func `every raw byte below a space is refused in a string`() {
        for byte in UInt8(0)..<0x20 where byte != 10 {
            let line = Array(#"{"type":"page","userId":"u","name":"a"#.utf8) + [byte] + Array("\"}\n".utf8)
            #expect(Scan(line).refused.map(\.refusal.reason) == [.invalidJSON], "byte \(byte)")
        }
    }

    @Test func `every scalar value is accepted raw, in UTF-8`() {
        var text = ""
        var lines = 0
        for value in UInt32(0x20)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value), scalar != "\"", scalar != "\\" else { continue }
            text.unicodeScalars.append(scalar)
            guard text.unicodeScalars.count == 4096 || value == 0x10FFFF else { continue }
            let line = #"{"type":"page","userId":"u","name":"\#(text)"}"#
            let scan = Scan(line + "\n")
            #expect(scan.accepted.map(scan.text) == [line])
            (text, lines) = ("", lines + 1)
        }
        #expect(lines == 272)
    }

    @Test(arguments: [("[", "]"), (#"{"k":"#, "}"), (#"[{"k":"#, "}]")])
    func `the depth is counted to the level`(_ open: String, _ close: String) {
        let step = open.hasPrefix("[{") ? 2 : 1
        for depth in 1...64 where (depth - 1) % step == 0 {
            let levels = (depth - 1) / step
            func nested(_ more: Int) -> String {
                String(repeating: open, count: levels + more) + "1" + String(repeating: close, count: levels + more)
            }
            #expect(Scan(#"{"type":"page","userId":"u","v":\#(nested(0))}"# + "\n", maximumDepth: depth).refused == [])
            #expect(
                Scan(#"{"type":"page","userId":"u","v":\#(nested(1))}"# + "\n", maximumDepth: depth)
                    .refused.map(\.refusal.reason) == [.tooDeep])
        }
    }

    @Test func `there are more than a hundred cases of each kind`() {
        #expect(JSONCase.values.count { $0.expected == .accepted } >= 100)
        #expect(JSONCase.values.count { $0.expected != .accepted } >= 100)
    }
}
