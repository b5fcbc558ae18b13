import Events

/// Checks one limit for one event.
struct LimitCheck {
    let limit: OutputLimit
    private let now: Int64

    /// - Parameter now: in nanoseconds since 1970-01-01 UTC.
    init(_ limit: OutputLimit, _ now: Int64) {
        self.limit = limit
        self.now = now
    }

    /// - Parameter json: the event; valid JSON.
    func problem(with json: Span<UInt8>) -> String? {
        problem(at: limit.path[...], FieldValue(of: json), json, "")
    }

    /// - Parameter shown: the path from the root to `value`, for messages.
    private func problem(at path: ArraySlice<String>, _ value: FieldValue, _ json: Span<UInt8>, _ shown: String)
        -> String?
    {
        guard let step = path.first else { return problem(with: value, json, shown.isEmpty ? "it" : shown) }
        let rest = path.dropFirst()
        var found = false
        func below(_ name: String, _ value: FieldValue) -> String? {
            problem(at: rest, value, json, shown.isEmpty ? name : shown + "." + name)
        }
        if value.type == .object, let range = value.json {
            var members = ObjectCursor(range)
            while let member = members.next(in: json) {
                let name = JSONText.string(json.extracting(member.key.range)) ?? ""
                guard step == name || step == "*" && !limit.exceptions.contains(name) else { continue }
                found = true
                if let problem = below(name, member.value) { return problem }
            }
        } else if value.type == .array, let range = value.json {
            var items = ListCursor(range)
            var number = 0
            while let item = items.next(in: json) {
                if step == "*" || step == "\(number)" {
                    found = true
                    if let problem = below("\(number)", item) { return problem }
                }
                number += 1
            }
        }
        if found || !limit.isRequired || step == "*" { return nil }
        return "\((shown.isEmpty ? "" : shown + ".") + path.joined(separator: ".")) is missing"
    }

    /// The problem with a value to which the limit applies.
    func problem(with value: FieldValue, _ json: Span<UInt8>, _ shown: String) -> String? {
        guard value.type != .null else { return limit.isRequired ? "\(shown) is null" : nil }
        if let most = limit.maximumSize {
            let size = value.json?.count ?? 0
            if size > most { return "\(shown) has \(size) bytes; at most \(most) are allowed" }
        }
        switch value.type {
        case .object, .array: return problem(within: value, json, shown)
        case .missing, .null: return nil
        case .string, .number, .true, .false:
            return problem(withText: json.extracting(value.slice.range), shown)
        case .escapedString:
            var text: [UInt8] = []
            guard JSONText.unescape(json.extracting(value.slice.range), into: &text) else { return nil }
            return problem(withText: text.span, shown)
        }
    }

    private func problem(within value: FieldValue, _ json: Span<UInt8>, _ shown: String) -> String? {
        let limitsNames = limit.names != nil || limit.refusedNames != nil
        guard limit.maximumMembers != nil || limitsNames, let range = value.json else { return nil }
        var count = 0
        if value.type == .object {
            var members = ObjectCursor(range)
            while let member = members.next(in: json) {
                count += 1
                guard limitsNames else { continue }
                let name = JSONText.string(json.extracting(member.key.range)) ?? ""
                if let problem = problem(withName: name) { return "\(shown) has the name \"\(name)\"; \(problem)" }
            }
        } else {
            var items = ListCursor(range)
            while items.next(in: json) != nil { count += 1 }
        }
        guard let most = limit.maximumMembers, count > most else { return nil }
        return "\(shown) has \(count) member\(count == 1 ? "" : "s"); at most \(most) are allowed"
    }

    /// What the names of an object's members must be, if this one is not.
    func problem(withName name: String) -> String? {
        if let names = limit.names, !names.matches(name.utf8.span) { return "names must match \(names.text)" }
        if let refused = limit.refusedNames, refused.matches(name.utf8.span) {
            return "names must not match \(refused.text)"
        }
        return nil
    }

    private func problem(withText text: Span<UInt8>, _ shown: String) -> String? {
        if limit.minimumLength != nil || limit.maximumLength != nil {
            var length = 0
            // Counts the bytes that begin a character: all but those of the form 10xxxxxx.
            for index in text.indices where text[index] & 0xC0 != 0x80 { length += 1 }
            if let least = limit.minimumLength, length < least {
                return "\(shown) has \(length) character\(length == 1 ? "" : "s"); at least \(least) are required"
            }
            if let most = limit.maximumLength, length > most {
                return "\(shown) has \(length) character\(length == 1 ? "" : "s"); at most \(most) are allowed"
            }
        }
        if let pattern = limit.pattern, !pattern.matches(text) { return "\(shown) must match \(pattern.text)" }
        if !limit.refused.isEmpty, limit.refused.contains(where: { text.hasBytes(of: $0.utf8.span) }) {
            return "\(shown) is a value that the service rejects"
        }
        guard limit.oldest != nil || limit.newest != nil else { return nil }
        guard let time = time(text) else { return "\(shown) is not a time in \(limit.unit.rawValue)" }
        if let oldest = limit.oldest, let earliest = moved(by: .zero - oldest), time < earliest {
            return "\(shown) is more than \(Self.spelled(oldest)) ago"
        }
        if let newest = limit.newest, let latest = moved(by: newest), time > latest {
            return "\(shown) is more than \(Self.spelled(newest)) ahead"
        }
        return nil
    }

    /// Nanoseconds since 1970-01-01 UTC.
    private func time(_ text: Span<UInt8>) -> Int64? {
        let perUnit: Int64
        switch limit.unit {
        case .rfc3339: return Timestamp.parse(text)
        case .seconds: perUnit = 1_000_000_000
        case .milliseconds: perUnit = 1_000_000
        case .microseconds: perUnit = 1_000
        case .nanoseconds: perUnit = 1
        }
        guard let number = Double(String(decoding: Array(copying: text), as: UTF8.self)) else { return nil }
        let time = (number * Double(perUnit)).rounded()
        // The time is outside the range of 64 bits, but it is a time.
        return time.isNaN ? nil : Int64(exactly: time) ?? (time < 0 ? .min : .max)
    }

    /// Nil: the time is outside the range of 64 bits.
    private func moved(by duration: Duration) -> Int64? {
        let (seconds, attoseconds) = duration.components
        let (nanoseconds, tooMany) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (whole, overflow) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
        let (moved, outside) = now.addingReportingOverflow(whole)
        return tooMany || overflow || outside ? nil : moved
    }

    private static func spelled(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        return seconds % 3600 == 0 ? "\(seconds / 3600) h" : seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
