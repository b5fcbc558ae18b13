import CSimdjson

/// A line that is not a valid event, with its explanation.
package struct ScannedRefusal: Sendable, Equatable {
    /// The number of line feeds before it in the scanned buffer.
    package var line: Int
    package var refusal: Refusal

    package init(line: Int, refusal: Refusal) {
        self.line = line
        self.refusal = refusal
    }
}

extension Refusal {
    /// The refusal of a line above the limit. The end of the line may not have arrived yet.
    package static func tooLarge(maximum: Int) -> Refusal {
        Refusal(
            reason: .tooLarge,
            detail: """
                the event is larger than \(maximum) bytes; send a smaller event, or raise max_event_size of this source
                """)
    }
}

extension ScannedRefusal {
    /// - Parameter json: the line's JSON.
    init(_ event: psj_event, _ json: Span<UInt8>, _ scanner: EventScanner) {
        var refusal = Self.explain(event, json, scanner)
        refusal.messageID = Self.messageID(event, json)
        self.init(line: Int(event.line), refusal: refusal)
    }

    init(_ event: psj_event, _ json: Span<UInt8>, invalidTimestamp text: Slice, _ field: String) {
        let refusal = Refusal(
            reason: .invalidTimestamp,
            detail: """
                \(field): expected a date and time such as "2026-01-31T12:00:00.000Z" (RFC 3339), \
                found "\(Self.excerpt(json, text))"
                """,
            messageID: Self.messageID(event, json))
        self.init(line: Int(event.line), refusal: refusal)
    }

    private static func explain(_ event: psj_event, _ json: Span<UInt8>, _ scanner: EventScanner) -> Refusal {
        let field = name(of: event.field)
        let fault = Slice(event.fault)
        let found = fault.isPresent ? "found \(describe(json, fault))" : "it is missing"
        // Positions are counted from 1, as in editors.
        let place = fault.isPresent ? "byte \(Int(fault.offset) + 1)" : "its end"
        switch psj_verdict(rawValue: UInt32(event.verdict)) {
        case PSJ_TOO_LARGE:
            return .tooLarge(maximum: scanner.maximumEventSize)
        case PSJ_INVALID_UTF8:
            return Refusal(reason: .invalidUTF8, detail: "the line is not UTF-8; encode it as UTF-8")
        case PSJ_UNCLOSED_STRING:
            return Refusal(reason: .invalidJSON, detail: "a string has no closing quote; an event is one whole line")
        case PSJ_CONTROL_CHARACTER:
            return Refusal(
                reason: .invalidJSON,
                detail: "a string holds a raw control character; write it as an escape such as \\n or \\u0000")
        case PSJ_TOO_DEEP:
            return Refusal(
                reason: .tooDeep,
                detail: "objects and lists are nested deeper than \(scanner.maximumDepth) at \(place); flatten them")
        case PSJ_INVALID_ESCAPE:
            return Refusal(reason: .invalidJSON, detail: "invalid escape at \(place); write a backslash as \\\\")
        case PSJ_LONE_SURROGATE:
            return Refusal(
                reason: .invalidJSON,
                detail: "half of a surrogate pair at \(place): a character was cut in two, send it whole")
        case PSJ_NOT_AN_OBJECT:
            return Refusal(reason: .notAnObject, detail: "an event is a JSON object, {…}; this is another value")
        case PSJ_UNKNOWN_TYPE:
            return Refusal(
                reason: .unknownType,
                detail: "type: expected track, identify, page, screen, group or alias; \(found)")
        case PSJ_EVENT_NOT_DEFINED:
            return Refusal(reason: .eventNotDefined, detail: "event: a track needs the event's name, not empty")
        case PSJ_EVENT_NOT_STRING:
            return Refusal(reason: .eventNotString, detail: "event: expected a string, \(found)")
        case PSJ_GROUP_ID_NOT_DEFINED:
            return Refusal(reason: .groupIDNotDefined, detail: "groupId: a group needs it, a string that is not empty")
        case PSJ_ALIAS_IDS_NOT_DEFINED:
            return Refusal(
                reason: .noUserOrAnonymousID,
                detail: "\(field): an alias needs userId and previousId, strings that are not empty")
        case PSJ_ID_NOT_STRING:
            return Refusal(reason: .idNotString, detail: "\(field): expected a string, \(found)")
        case PSJ_NO_USER_ANON_ID:
            return Refusal(
                reason: .noUserOrAnonymousID,
                detail: isEmptyString(json, fault)
                    ? "\(field) is empty; send a userId or an anonymousId that is not empty"
                    : "expected userId or anonymousId, a string that is not empty")
        case PSJ_MESSAGE_ID_TOO_LONG:
            return Refusal(
                reason: .schemaViolation,
                detail: "messageId: expected at most \(PSJ_MESSAGE_ID_LIMIT) characters, \(found)")
        case PSJ_PROPERTIES_NOT_OBJECT:
            return Refusal(reason: .propertiesNotObject, detail: "properties: expected an object, \(found)")
        case PSJ_TRAITS_NOT_OBJECT:
            return Refusal(reason: .traitsNotObject, detail: "traits: expected an object, \(found)")
        case PSJ_CONTEXT_NOT_OBJECT:
            return Refusal(reason: .contextNotObject, detail: "context: expected an object, \(found)")
        case PSJ_NAME_NOT_STRING:
            return Refusal(reason: .nameNotString, detail: "name: expected a string, \(found)")
        case PSJ_TIMESTAMP_NOT_STRING:
            return Refusal(
                reason: .invalidTimestamp,
                detail: "\(field): expected a string such as \"2026-01-31T12:00:00.000Z\" (RFC 3339), \(found)")
        default:
            return Refusal(reason: .invalidJSON, detail: invalidJSON(json, fault, place))
        }
    }

    private static func invalidJSON(_ json: Span<UInt8>, _ fault: Slice, _ place: String) -> String {
        if json.count >= 3, json[0] == 0xEF, json[1] == 0xBB, json[2] == 0xBF {
            return "the line begins with a byte order mark; send UTF-8 without one"
        }
        guard fault.isPresent, Int(fault.offset) < json.count else {
            return "not valid JSON: the line ends in the middle of a value; an event is one whole line"
        }
        return "not valid JSON at \(place): unexpected \(describe(json[Int(fault.offset)]))"
    }

    private static func isEmptyString(_ json: Span<UInt8>, _ fault: Slice) -> Bool {
        fault.isPresent && fault.length == 2 && json[Int(fault.offset)] == UInt8(ascii: "\"")
    }

    /// Describes a value of the wrong type.
    private static func describe(_ json: Span<UInt8>, _ fault: Slice) -> String {
        switch Int(fault.offset) < json.count ? json[Int(fault.offset)] : 0 {
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "a list"
        default: excerpt(json, fault)
        }
    }

    static func describe(_ byte: UInt8) -> String {
        (0x21...0x7E).contains(byte)
            ? "'\(Unicode.Scalar(byte))'" : "byte 0x\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))"
    }

    private static func name(of field: UInt8) -> String {
        switch psj_field(rawValue: UInt32(field)) {
        case PSJ_FIELD_TYPE: "type"
        case PSJ_FIELD_EVENT: "event"
        case PSJ_FIELD_USER_ID: "userId"
        case PSJ_FIELD_ANONYMOUS_ID: "anonymousId"
        case PSJ_FIELD_PREVIOUS_ID: "previousId"
        case PSJ_FIELD_GROUP_ID: "groupId"
        case PSJ_FIELD_MESSAGE_ID: "messageId"
        case PSJ_FIELD_TIMESTAMP: "timestamp"
        case PSJ_FIELD_SENT_AT: "sentAt"
        default: "a field"
        }
    }

    /// The first bytes of a value as they appear in the event: enough to recognise it, never a whole event.
    private static func excerpt(_ json: Span<UInt8>, _ slice: Slice) -> String {
        let limit = 40
        guard slice.length > limit else { return JSONText.text(json.extracting(slice.range)) ?? "something else" }
        var end = Int(slice.offset) + limit
        // Do not cut a character in two.
        while end > Int(slice.offset), json[end] & 0xC0 == 0x80 { end -= 1 }
        return (JSONText.text(json.extracting(Int(slice.offset)..<end)) ?? "something else") + "…"
    }

    private static func messageID(_ event: psj_event, _ json: Span<UInt8>) -> String? {
        let slice = Slice(event.message_id)
        // A longer id is invalid and too large to keep.
        guard slice.isPresent, slice.length <= 12 * UInt32(PSJ_MESSAGE_ID_LIMIT) else { return nil }
        return JSONText.string(json.extracting(slice.range))
    }
}
