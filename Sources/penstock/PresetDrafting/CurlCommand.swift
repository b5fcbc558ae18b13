/// A request as documentation shows it: a curl command.
struct CurlCommand: Equatable {
    struct Field: Equatable {
        var name: String
        var value: String
    }

    struct Unreadable: Error, Equatable, CustomStringConvertible { let description: String }

    var method: String
    var url: String
    var headers: [Field] = []
    /// nil: the request has no body.
    var body: String?
    /// `user:password`
    var user: String?

    /// - Parameter text: the command, over one line or several, with or without a prompt.
    init(_ text: String) throws(Unreadable) {
        var words = try Self.words(text)[...]
        if words.first == "$" || words.first == "%" { words.removeFirst() }
        guard words.popFirst() == "curl" else { throw Unreadable(description: "the text is no curl command") }
        var method: String?
        var data: [String] = []
        var urls: [String] = []
        var isGet = false
        (self.method, url) = ("", "")
        while let word = words.popFirst() {
            let (option, inline) = Self.option(word)
            func value() throws(Unreadable) -> String {
                guard let value = inline ?? words.popFirst() else {
                    throw Unreadable(description: "\(option) has no value")
                }
                return value
            }
            switch option {
            case "-X", "--request": method = try value().uppercased()
            case "-H", "--header": headers += Self.field(try value()).map { [$0] } ?? []
            case "-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode":
                data.append(try value())
            case "--json":
                data.append(try value())
                headers.append(Field(name: "Content-Type", value: "application/json"))
            case "-u", "--user": user = try value()
            case "--url": urls.append(try value())
            case "-G", "--get": isGet = true
            case "-A", "--user-agent", "-o", "--output", "-m", "--max-time", "--connect-timeout", "--retry", "-x",
                "--proxy", "--cacert", "-w", "--write-out":
                _ = try value()
            case "-F", "--form": throw Unreadable(description: "a multipart form (\(option)) cannot be a preset")
            default: if !word.hasPrefix("-") { urls.append(word) }
            }
        }
        guard urls.count == 1, let url = urls.first else {
            throw Unreadable(description: "the command needs one URL, and has \(urls.count)")
        }
        self.url = url.contains("://") ? url : "http://\(url)"
        takeCredentials()
        if isGet, !data.isEmpty {
            self.url += (self.url.contains("?") ? "&" : "?") + data.joined(separator: "&")
            data = []
        }
        body = data.isEmpty ? nil : data.joined(separator: "&")
        self.method = method ?? (body == nil ? "GET" : "POST")
        if let file = data.first, file.hasPrefix("@") {
            throw Unreadable(description: "the body is in the file \(file.dropFirst()): put its text into the command")
        }
    }

    /// User and password may be part of the URL.
    private mutating func takeCredentials() {
        guard let start = url.firstRange(of: "://")?.upperBound else { return }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard let at = authority.lastIndex(of: "@") else { return }
        user = user ?? String(authority[..<at])
        url.removeSubrange(start...at)
    }

    /// `--name=value` and `-Xvalue` hold their values.
    private static func option(_ word: String) -> (name: String, value: String?) {
        if word.hasPrefix("--") {
            guard let sign = word.firstIndex(of: "=") else { return (word, nil) }
            return (String(word[..<sign]), String(word[word.index(after: sign)...]))
        }
        guard word.hasPrefix("-"), word.count > 2, ["X", "H", "d", "u"].contains(word.dropFirst().first) else {
            return (word, nil)
        }
        return (String(word.prefix(2)), String(word.dropFirst(2)))
    }

    private static func field(_ line: String) -> Field? {
        guard let colon = line.firstIndex(of: ":") else { return nil }
        let value = line[line.index(after: colon)...].drop { $0 == " " }
        return Field(name: String(line[..<colon]), value: String(value))
    }

    /// Divides the text as a shell does. Variables stay as they are.
    private static func words(_ text: String) throws(Unreadable) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = text[...]
        while let character = rest.popFirst() {
            if let open = quote {
                if character == open {
                    quote = nil
                } else if open == "\"", character == "\\", let next = rest.first, "\"\\$`\n".contains(next) {
                    rest.removeFirst()
                    if next != "\n" { word?.append(next) }
                } else {
                    word?.append(character)
                }
                continue
            }
            switch character {
            case "'", "\"":
                quote = character
                word = word ?? ""
            case "\\":
                // A backslash at a line's end continues the line.
                guard let next = rest.popFirst(), !next.isNewline else { break }
                word = (word ?? "") + String(next)
            case _ where character.isWhitespace:
                if let whole = word { words.append(whole) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        if quote != nil { throw Unreadable(description: "a quote is not closed") }
        if let whole = word { words.append(whole) }
        return words
    }
}
