import Events

/// Makes a preset of an example request: what looks like a credential becomes a secret setting, and members whose names
/// say what they are become fields of the event. Everything else stays as in the example, to be edited.
struct PresetDraft {
    private let name: String
    private let command: CurlCommand
    /// Settings in the order in which they were found.
    private var settings: [(name: String, summary: String)] = []

    init(_ name: String, of command: CurlCommand) {
        self.name = name
        self.command = command
    }

    /// The preset's file.
    var text: String {
        var draft = self
        let destination = draft.destination()
        var lines = ["title: \(name)", "description: events for \(host)"]
        lines.append("# Replace this by the page that describes the request.")
        lines.append("documentation: https://\(host)/")
        if !draft.settings.isEmpty {
            lines += ["", "settings:"]
            for setting in draft.settings {
                lines += ["  \(setting.name):", "    description: \(setting.summary)", "    required: true"]
                lines.append("    secret: true")
            }
        }
        return (lines + ["", "destination:"] + destination.map { $0.isEmpty ? "" : "  " + $0 }).joined(separator: "\n")
            + "\n"
    }

    private var host: String {
        let rest = command.url.drop { $0 != "/" }.drop { $0 == "/" }
        return String(rest.prefix { $0 != "/" && $0 != "?" && $0 != ":" })
    }

    // MARK: The parts of the destination

    private mutating func destination() -> [String] {
        var lines = ["http: \(quoted(url()))"]
        if command.method != "POST" { lines.append("method: \(command.method)") }
        let headers = self.headers()
        if !headers.isEmpty { lines += ["headers:"] + headers.map { "  " + $0 } }
        lines += body()
        lines += [
            "",
            "# What the service's answers mean, where it differs from the usual: 2xx delivered; 408, 429, 5xx retry;",
            "# 401, 403 hold; any other status rejected. For a request of several events, split finds the bad one.",
            "answers:", "  - { status: 400, then: split }",
        ]
        return lines
    }

    private mutating func url() -> String {
        var url = command.url
        if let user = command.user, let mark = url.firstRange(of: "://") {
            let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            var credentials = setting("user", "the user's name, or the key that is sent as one")
            if parts.count > 1, !parts[1].isEmpty { credentials += ":" + setting("password", "the user's password") }
            url.insert(contentsOf: credentials + "@", at: mark.upperBound)
        }
        guard let start = url.firstIndex(of: "?") else { return url }
        let query = url[url.index(after: start)...].split(separator: "&").map { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, isSecret(String(parts[0])) else { return String(parameter) }
            return "\(parts[0])=" + setting(String(parts[0]), "the value of \(parts[0]) in the URL")
        }
        return url[...start] + query.joined(separator: "&")
    }

    private mutating func headers() -> [String] {
        command.headers.compactMap { header in
            switch header.name.lowercased() {
            case "content-length", "host", "user-agent", "accept", "accept-encoding", "connection": return nil
            case "content-type" where header.value.hasPrefix("application/json"): return nil
            case "content-type" where header.value.hasPrefix("application/x-www-form-urlencoded"): return nil
            case "authorization":
                let word = header.value.prefix { $0 != " " }
                let scheme = word.count < header.value.count ? "\(word) " : ""
                let value = scheme + setting("token", "the credential in the header \(header.name)")
                return "\(header.name): \(quoted(value))"
            case let name where Self.secretWords.contains(where: name.contains):
                return "\(header.name): \(quoted(setting(name, "the value of the header \(header.name)")))"
            default: return "\(header.name): \(quoted(header.value))"
            }
        }
    }

    private mutating func body() -> [String] {
        guard let text = command.body else {
            return ["format: single", "# The event is in the URL: {{ userId }}, {{ properties.name }}."]
        }
        let bytes = Array(text.utf8)
        if let document = JSONDocument(bytes, maximumDepth: 32) { return jsonBody(document, bytes) }
        let lines = text.split(whereSeparator: \.isNewline).map { Array($0.utf8) }
        if lines.count > 1, let first = lines.first, let document = JSONDocument(first, maximumDepth: 32) {
            return ["format: ndjson", "mapping:"] + members(of: document, first).map { "  " + $0 }
        }
        return formBody(text)
    }

    private mutating func jsonBody(_ document: JSONDocument, _ bytes: [UInt8]) -> [String] {
        if case .array(let items) = document.value, let item = items.first(where: \.isObject) {
            return ["format: array", "mapping:"] + members(of: item, bytes).map { "  " + $0 }
        }
        guard case .object(let all) = document.value else { return ["format: single", "mapping: $"] }
        for (number, member) in all.enumerated() {
            guard case .array(let items) = member.value.value, let item = items.first(where: \.isObject) else {
                continue
            }
            var lines = ["format: array", "body:"]
            for (other, member) in all.enumerated() {
                let name = Self.text(member.name)
                lines += (other == number ? ["\(key(name)): $events"] : value(named: name, member.value, bytes)).map {
                    "  " + $0
                }
            }
            return lines + ["mapping:"] + members(of: item, bytes).map { "  " + $0 }
        }
        return ["format: single", "mapping:"] + members(of: document, bytes).map { "  " + $0 }
    }

    private mutating func formBody(_ text: String) -> [String] {
        let fields = text.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        guard !text.contains(where: \.isWhitespace), fields.allSatisfy({ $0.count == 2 }) else {
            return ["format: text", "mapping: \(quoted(text))"]
        }
        var lines = ["format: form", "mapping:"]
        for field in fields {
            let meaning = meaning(of: field[0], text: field[1]) ?? quoted(field[1])
            lines.append("  \(key(field[0])): \(meaning)")
        }
        return lines
    }

    // MARK: Values

    private mutating func members(of document: JSONDocument, _ bytes: [UInt8]) -> [String] {
        guard case .object(let members) = document.value else { return [] }
        var lines: [String] = []
        for member in members { lines += value(named: Self.text(member.name), member.value, bytes) }
        return lines
    }

    private mutating func value(named name: String, _ value: JSONDocument, _ bytes: [UInt8]) -> [String] {
        if let meaning = meaning(of: name, value, bytes) { return ["\(key(name)): \(meaning)"] }
        if value.isObject, !value.children.isEmpty {
            return ["\(key(name)):"] + members(of: value, bytes).map { "  " + $0 }
        }
        if case .array(let items) = value.value, items.contains(where: \.isObject) {
            return ["\(key(name)):"]
                + items.flatMap { item in
                    let lines = item.isObject ? members(of: item, bytes) : [Self.text(of: item, bytes)]
                    return lines.enumerated().map { ($0 == 0 ? "  - " : "    ") + $1 }
                }
        }
        return ["\(key(name)): \(Self.text(of: value, bytes))"]
    }

    private static func text(of value: JSONDocument, _ bytes: [UInt8]) -> String {
        String(decoding: bytes[value.range], as: UTF8.self)
    }

    private mutating func meaning(of name: String, _ value: JSONDocument, _ bytes: [UInt8]) -> String? {
        if value.isObject { return Self.objects[Self.plain(name)] }
        if case .array = value.value { return nil }
        return meaning(of: name, text: value.scalar(in: bytes) ?? "")
    }

    private mutating func meaning(of name: String, text: String) -> String? {
        let plain = Self.plain(name)
        if Self.times.contains(plain) { return Self.time(like: text) }
        if Self.ids.contains(plain) {
            return text.count == 36 && text.filter({ $0 == "-" }).count == 4 ? "{ $uuid: $.messageId }" : "$.messageId"
        }
        if let meaning = Self.scalars[plain] { return meaning }
        return isSecret(name) ? quoted(setting(name, "the value of \(name) in the body")) : nil
    }

    private static let objects = [
        "properties": "$.properties", "props": "$.properties", "params": "$.properties", "attributes": "$.properties",
        "customdata": "$.properties", "eventproperties": "$.properties", "data": "$.properties",
        "traits": "$.traits", "userproperties": "$.traits", "context": "$.context",
    ]
    private static let anyUser = "{ $first: [ $.userId, $.anonymousId ] }"
    private static let scalars = [
        "event": "$.event", "eventname": "$.event", "eventtype": "$.event", "action": "$.event",
        "userid": anyUser, "distinctid": anyUser, "externalid": anyUser, "customerid": anyUser, "profileid": anyUser,
        "uid": anyUser, "anonymousid": "$.anonymousId", "deviceid": "$.anonymousId", "clientid": "$.anonymousId",
        "groupid": "$.groupId", "type": "$.type", "ip": "$.context.ip", "useragent": "$.context.userAgent",
        "url": "$.context.page.url", "referrer": "$.context.page.referrer", "email": "$.traits.email",
        "locale": "$.context.locale",
    ]
    private static let ids: Set<String> = ["messageid", "insertid", "eventid", "uuid", "idempotencykey", "dedupeid"]
    private static let times: Set<String> = [
        "timestamp", "time", "ts", "datetime", "eventtime", "occurredat", "createdat", "sentat", "timestampms",
    ]

    /// A time in the example's form.
    private static func time(like text: String) -> String {
        guard text.allSatisfy({ $0.isNumber || $0 == "." }), !text.isEmpty else { return "$.timestamp" }
        let format =
            switch text.prefix(while: { $0 != "." }).count {
            case ...10: text.contains(".") ? "epoch_decimal" : "epoch_seconds"
            case 11...13: "epoch_milliseconds"
            case 14...16: "epoch_microseconds"
            default: "epoch_nanoseconds"
            }
        return "{ $date: { value: $.timestamp, format: \(format) } }"
    }

    /// The name without what differs between spellings: `$insert_id` and `insertId` are the same.
    private static func plain(_ name: String) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }

    private func isSecret(_ name: String) -> Bool {
        let plain = Self.plain(name)
        return ["token", "secret", "password", "passwd", "apikey", "writekey", "licensekey", "accesskey", "signature"]
            .contains { plain.hasSuffix($0) } || ["key", "auth", "sig", "pwd", "pass"].contains(plain)
    }

    /// A header whose name holds one of these is likely to hold a credential.
    private static let secretWords = ["key", "token", "secret", "auth", "cookie", "signature", "password"]

    /// The placeholder of a secret setting, which is added if it is new.
    private mutating func setting(_ name: String, _ summary: String) -> String {
        var text = String(name.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })
        while text.hasPrefix("_") { text.removeFirst() }
        if !settings.contains(where: { $0.name == text }) { settings.append((text, summary)) }
        return "{{ setting.\(text) }}"
    }

    private func key(_ name: String) -> String {
        name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }
            && name.first?.isLetter == true
            ? name : quoted(name)
    }

    private func quoted(_ text: String) -> String {
        var output: [UInt8] = []
        JSONText.appendString(text.utf8.span, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    private static func text(_ name: [UInt8]) -> String { JSONText.string(name.span) ?? "" }
}

extension JSONDocument {
    fileprivate var isObject: Bool { if case .object = value { true } else { false } }
}
