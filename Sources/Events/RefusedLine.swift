import CSimdjson

/// A line that is not a valid event, and the facts needed to explain why. Creating it allocates no memory: the
/// explanation is built only on request.
package struct RefusedLine: Sendable {
    private enum Cause: Sendable {
        case found(psj_event)
        case timestamp(psj_event, Slice, isSentAt: Bool)
        case explained(Refusal)
    }

    /// A fault that a source may be configured to repair.
    package enum RepairableFault: Sendable, CaseIterable {
        /// A string holds half of a surrogate pair as an escape.
        case loneSurrogate
        /// An id is a number, a boolean, a list or an object.
        case idNotString
    }

    /// The number of line feeds before it in the scanned buffer.
    package var line: Int
    package let reason: RefusalReason
    private let cause: Cause

    package init(line: Int, refusal: Refusal) {
        self.line = line
        reason = refusal.reason
        cause = .explained(refusal)
    }

    init(_ event: psj_event) {
        line = Int(event.line)
        reason = Self.reason(of: event)
        cause = .found(event)
    }

    init(_ event: psj_event, invalidTimestamp text: Slice, isSentAt: Bool) {
        line = Int(event.line)
        reason = .invalidTimestamp
        cause = .timestamp(event, text, isSentAt: isSentAt)
    }

    /// The fault, if it can be repaired. The line may have other faults. For `idNotString`, it is valid JSON.
    package var repairableFault: RepairableFault? {
        guard case .found(let event) = cause else { return nil }
        return switch psj_verdict(rawValue: UInt32(event.verdict)) {
        case PSJ_LONE_SURROGATE: .loneSurrogate
        case PSJ_ID_NOT_STRING: .idNotString
        default: nil
        }
    }

    /// The place of the line's JSON in the scanned buffer; nil if the line was not scanned.
    package var json: Range<Int>? {
        switch cause {
        case .found(let event), .timestamp(let event, _, _):
            Int(event.offset)..<Int(event.offset) + Int(event.length)
        case .explained: nil
        }
    }

    /// The refusal with its explanation.
    /// - Parameters:
    ///   - bytes: the scanned buffer, or an equal one.
    ///   - scanner: the scanner that produced this value.
    package func refusal(in bytes: Span<UInt8>, by scanner: EventScanner) -> Refusal {
        switch cause {
        case .explained(let refusal):
            return refusal
        case .found(let event):
            return ScannedRefusal(event, Self.json(of: event, in: bytes), scanner).refusal
        case .timestamp(let event, let text, let isSentAt):
            let field = isSentAt ? "sentAt" : "timestamp"
            return ScannedRefusal(event, Self.json(of: event, in: bytes), invalidTimestamp: text, field).refusal
        }
    }

    @_lifetime(copy bytes)
    private static func json(of event: psj_event, in bytes: Span<UInt8>) -> Span<UInt8> {
        bytes.extracting(Int(event.offset)..<Int(event.offset) + Int(event.length))
    }

    private static func reason(of event: psj_event) -> RefusalReason {
        switch psj_verdict(rawValue: UInt32(event.verdict)) {
        case PSJ_TOO_LARGE: .tooLarge
        case PSJ_INVALID_UTF8: .invalidUTF8
        case PSJ_TOO_DEEP: .tooDeep
        case PSJ_NOT_AN_OBJECT: .notAnObject
        case PSJ_UNKNOWN_TYPE: .unknownType
        case PSJ_EVENT_NOT_DEFINED: .eventNotDefined
        case PSJ_EVENT_NOT_STRING: .eventNotString
        case PSJ_GROUP_ID_NOT_DEFINED: .groupIDNotDefined
        case PSJ_ALIAS_IDS_NOT_DEFINED, PSJ_NO_USER_ANON_ID: .noUserOrAnonymousID
        case PSJ_ID_NOT_STRING: .idNotString
        case PSJ_MESSAGE_ID_TOO_LONG: .schemaViolation
        case PSJ_PROPERTIES_NOT_OBJECT: .propertiesNotObject
        case PSJ_TRAITS_NOT_OBJECT: .traitsNotObject
        case PSJ_CONTEXT_NOT_OBJECT: .contextNotObject
        case PSJ_NAME_NOT_STRING: .nameNotString
        case PSJ_TIMESTAMP_NOT_STRING: .invalidTimestamp
        default: .invalidJSON
        }
    }
}
