import Events

/// `redact: [email, ip, card, phone, token]`: finds sensitive text in all values of the event and replaces it with
/// `[email]` and so on. Matches of the user's own patterns become `[redacted]`. Keys are unchanged, and so are the
/// event's own `type`, `messageId` and times.
struct RedactTransform: RewritingTransform {
    static let declaration = TransformDeclaration.keys(
        "redact", RedactTransform(), shorthand: "kinds",
        [
            Setting(
                "kinds", \.kinds, .list(of: .choice), default: "all, or none if patterns is set",
                "kinds of sensitive text to find"),
            Setting(
                "patterns", \.patterns, .list(of: .text("a regular expression")),
                "regular expressions (RE2) to find too"),
            Setting("with", \.replacement, .text("a text"), default: "[email], [ip] …", "the replacement"),
        ],
        example: "redact: { kinds: [email, card], patterns: ['ID-[0-9]{6}'] }",
        "replaces e-mail addresses, IP addresses, card numbers, phone numbers and tokens in all values")

    var kinds: [SensitiveText.Kind]?
    var patterns: [String] = []
    var replacement: String?

    func check() -> [TransformError] {
        patterns.enumerated().compactMap { number, pattern in
            do throws(FilterError) {
                _ = try RegularExpression(pattern)
                return nil
            } catch {
                return TransformError(keys: ["patterns", "\(number)"], isKey: false, fault: error)
            }
        }
    }

    func makeRewriter(_ table: inout PathTable, _ surroundings: StageSurroundings) -> any EventRewriter {
        // The patterns were valid when the configuration was checked.
        let expressions = patterns.compactMap { try? RegularExpression($0) }
        let kinds = self.kinds ?? (patterns.isEmpty ? SensitiveText.Kind.allCases : [])
        return Rewriter(SensitiveText(kinds: Set(kinds), patterns: expressions), replacement: replacement)
    }

    private final class Rewriter: EventRewriter {
        private var finder: SensitiveText
        /// Replacements as contents of JSON strings.
        private let replacements: [[UInt8]]
        private var decoded: [UInt8] = []

        init(_ finder: SensitiveText, replacement: String?) {
            self.finder = finder
            replacements = SensitiveText.names.map { name in
                var contents: [UInt8] = []
                JSONText.appendContents((replacement ?? "[\(name)]").utf8.span, to: &contents)
                return contents
            }
        }

        func rewrite(_ view: borrowing EventView, into output: inout EventTexts) -> RewriteOutcome {
            let json = view.json
            let start = output.bytes.count
            var copied = 0
            var cursor = ScalarCursor(json)
            while let value = cursor.next(in: json) {
                guard !cursor.isAtTopLevel || !Self.isKept(cursor.key, in: json) else { continue }
                switch value.type {
                case .string:
                    let text = json.extracting(value.slice.range)
                    guard finder.find(in: text) else { continue }
                    output.bytes.append(contentsOf: json.extracting(copied..<Int(value.slice.offset)))
                    append(text, escaped: false, to: &output.bytes)
                    copied = value.slice.range.upperBound
                case .escapedString:
                    decoded.removeAll(keepingCapacity: true)
                    guard JSONText.unescape(json.extracting(value.slice.range), into: &decoded),
                        finder.find(in: decoded.span)
                    else { continue }
                    output.bytes.append(contentsOf: json.extracting(copied..<Int(value.slice.offset)))
                    append(decoded.span, escaped: true, to: &output.bytes)
                    copied = value.slice.range.upperBound
                case .number:
                    guard finder.isCardNumber(json.extracting(value.slice.range)) else { continue }
                    output.bytes.append(contentsOf: json.extracting(copied..<Int(value.slice.offset)))
                    JSONText.appendString("", to: &output.bytes)
                    output.bytes.removeLast()
                    output.bytes.append(contentsOf: replacements[SensitiveText.Kind.card.number])
                    output.bytes.append(UInt8(ascii: "\""))
                    copied = value.slice.range.upperBound
                case .missing, .null, .true, .false, .array, .object: continue
                }
            }
            guard output.bytes.count > start else { return .unchanged }
            output.bytes.append(contentsOf: json.extracting(copied..<json.count))
            output.finishEvent()
            return .rewritten
        }

        /// Appends a text with the matches replaced.
        private func append(_ text: Span<UInt8>, escaped: Bool, to output: inout [UInt8]) {
            var copied = 0
            for hit in finder.hits {
                Self.append(text.extracting(copied..<hit.range.lowerBound), escaped, to: &output)
                output.append(contentsOf: replacements[hit.kind])
                copied = hit.range.upperBound
            }
            Self.append(text.extracting(copied..<text.count), escaped, to: &output)
        }

        private static func append(_ text: Span<UInt8>, _ escaped: Bool, to output: inout [UInt8]) {
            if escaped { JSONText.appendContents(text, to: &output) } else { output.append(contentsOf: text) }
        }

        private static let kept = ["type", "messageId", "timestamp", "sentAt", "originalTimestamp", "receivedAt"].map {
            Array($0.utf8)
        }

        private static func isKept(_ key: Slice, in json: Span<UInt8>) -> Bool {
            guard key.isPresent else { return false }
            let key = json.extracting(key.range)
            return kept.contains { JSONText.contents(key, equal: $0.span) }
        }
    }
}
