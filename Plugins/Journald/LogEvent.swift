import EventTemplates
import Events
import Glibc
import PenstockPluginKit

/// Makes an event of an entry.
struct LogEvent {
    /// The fields with a name of their own in the properties. The others keep the journal's.
    private static let names: [(field: StaticString, property: String)] = [
        ("MESSAGE", "message"), ("PRIORITY", "priority"), ("_SYSTEMD_UNIT", "unit"),
        ("SYSLOG_IDENTIFIER", "identifier"),
        ("_PID", "pid"), ("_HOSTNAME", "host"),
    ]
    /// Of the fields that journald adds itself, which begin with _, these become properties.
    private static let added: Set = [
        "_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "_PID", "_HOSTNAME", "_COMM", "_EXE", "_UID", "_GID", "_TRANSPORT",
    ]
    /// The most properties of an event, and the most bytes of their values.
    private static let maximumProperties = 256
    private static let maximumBytes = 512 << 10
    /// The longest name of an event, in bytes.
    private static let longestName = 256

    private let template: EventTemplate
    private let templateFields = EventFields()
    private let chosen: Set<String>?
    private let longest: Int

    /// - Throws: an error that names the setting.
    init(_ settings: JournaldSourceSettings) throws(SourceError) {
        template = try EventTemplate(settings.event ?? "Log Line", setting: "event", fields: templateFields)
        chosen = settings.fields.map { Set($0) }
        longest = settings.longestValue
    }

    func json(_ entry: LogEntry, _ cursor: JournalCursor) -> [UInt8] {
        var output = Array(#"{"type":"track","messageId":""#.utf8)
        output += cursor.messageID.utf8
        output += #"","anonymousId":"#.utf8
        JSONText.appendString(machine(entry, cursor), to: &output)
        if let time = Self.timestamp(cursor.realtime) { output += #","timestamp":"\#(time)""#.utf8 }
        output += #","properties":{"#.utf8
        appendProperties(entry, to: &output)
        output += "}}".utf8
        let name = eventName(output)
        output.removeLast()
        output += #","event":"#.utf8
        Self.appendString(name[...], to: &output)
        output.append(UInt8(ascii: "}"))
        return output
    }

    private func machine(_ entry: LogEntry, _ cursor: JournalCursor) -> String {
        guard let id = entry.text("_MACHINE_ID"), !id.isEmpty else { return cursor.bootText }
        return id
    }

    private func eventName(_ json: [UInt8]) -> [UInt8] {
        if !template.isFixed { templateFields.read(json.span) }
        var name: [UInt8] = []
        template.append(kind: "track", json.span, templateFields, to: &name) {
            (value: Span<UInt8>, output: inout [UInt8]) in
            output.append(contentsOf: value)
        }
        return Array(Self.cut(name[...], to: Self.longestName))
    }

    // MARK: - Properties

    private func appendProperties(_ entry: LogEntry, to output: inout [UInt8]) {
        var bytes = 0
        var count = 0
        var cutNames: [String] = []
        for index in entry.fields.indices {
            let name = String(decoding: entry.name(index), as: UTF8.self)
            guard isChosen(name), isFirst(index, entry) else { continue }
            guard count < Self.maximumProperties else {
                cutNames.append(name)
                break
            }
            let values = entry.fields.indices.filter {
                $0 == index || ($0 > index && entry.name($0) == entry.name(index))
            }
            if count > 0 { output.append(UInt8(ascii: ",")) }
            JSONText.appendString(Self.property(name), to: &output)
            output.append(UInt8(ascii: ":"))
            if values.count > 1 { output.append(UInt8(ascii: "[")) }
            for (number, field) in values.enumerated() {
                let value = entry.bytes[entry.fields[field].value]
                let kept = Self.cut(value, to: min(longest, max(0, Self.maximumBytes - bytes)))
                if kept.count < value.count, cutNames.last != name { cutNames.append(name) }
                bytes += kept.count
                if number > 0 { output.append(UInt8(ascii: ",")) }
                Self.append(kept, isNumber: name == "PRIORITY" || name == "_PID", to: &output)
            }
            if values.count > 1 { output.append(UInt8(ascii: "]")) }
            count += 1
        }
        guard !cutNames.isEmpty else { return }
        output += #","truncated":["#.utf8
        for (number, name) in cutNames.enumerated() {
            if number > 0 { output.append(UInt8(ascii: ",")) }
            JSONText.appendString(Self.property(name), to: &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    private func isChosen(_ name: String) -> Bool {
        if let chosen { return chosen.contains(name) }
        return !name.hasPrefix("_") || Self.added.contains(name)
    }

    /// A field that comes several times becomes one property, an array.
    private func isFirst(_ index: Int, _ entry: LogEntry) -> Bool {
        !(0..<index).contains { entry.name($0) == entry.name(index) }
    }

    private static func property(_ field: String) -> String {
        names.first { "\($0.field)" == field }?.property ?? field
    }

    private static func append(_ value: ArraySlice<UInt8>, isNumber: Bool, to output: inout [UInt8]) {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        // A zero before other digits would be no JSON.
        if isNumber, 1...18 ~= value.count, value.allSatisfy({ digits.contains($0) }),
            value.count == 1 || value.first != UInt8(ascii: "0")
        {
            output += value
        } else {
            appendString(value, to: &output)
        }
    }

    /// Appends a value as a string. What is not UTF-8 becomes U+FFFD.
    private static func appendString(_ value: ArraySlice<UInt8>, to output: inout [UInt8]) {
        JSONText.appendString(String(decoding: value, as: UTF8.self), to: &output)
    }

    /// At most so many bytes, without a part of a character at the end.
    private static func cut(_ value: ArraySlice<UInt8>, to longest: Int) -> ArraySlice<UInt8> {
        guard value.count > longest else { return value }
        var end = value.startIndex + longest
        // A character has at most 3 bytes after its first.
        for _ in 0..<3 where end > value.startIndex && value[end] & 0xC0 == 0x80 { end -= 1 }
        if value[end] & 0xC0 == 0x80 { end = value.startIndex + longest }
        return value[..<end]
    }

    /// RFC 3339; nil: a year of more than 4 digits.
    private static func timestamp(_ microseconds: UInt64) -> String? {
        var seconds = time_t(microseconds / 1_000_000)
        var parts = unsafe tm()
        guard unsafe gmtime_r(&seconds, &parts) != nil else { return nil }
        let fields = unsafe [
            parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
        ]
        guard fields[0] <= 9999 else { return nil }
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let texts = fields.enumerated().map { digits(Int($1), $0 == 0 ? 4 : 2) }
        let (date, time) = (texts[..<3].joined(separator: "-"), texts[3...].joined(separator: ":"))
        return "\(date)T\(time).\(digits(Int(microseconds % 1_000_000), 6))Z"
    }
}
