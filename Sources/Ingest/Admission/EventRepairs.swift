import Events

/// The faults that a source repairs before it stores an event. Each has its configuration key.
package struct EventRepairs: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A number in the place of an id becomes a string with the number's own text (`ids: lenient`).
    package static let numericIDs = EventRepairs(rawValue: 1 << 0)
    /// Half of a surrogate pair becomes U+FFFD (`invalid_text: replace`).
    package static let loneSurrogates = EventRepairs(rawValue: 1 << 1)

    init(_ fault: RefusedLine.RepairableFault) {
        switch fault {
        case .idNotString: self = .numericIDs
        case .loneSurrogate: self = .loneSurrogates
        }
    }
}

/// What was unusual about an accepted event, or repaired in it. The raw value is the name in `penstock status --json`.
package enum Normalisation: String, Sendable, CaseIterable {
    /// An id was an empty string, which counts as absent.
    case emptyIDs = "empty_ids"
    /// A number in the place of an id became a string.
    case numericIDs = "numeric_ids"
    /// Half of a surrogate pair became U+FFFD.
    case replacedText = "replaced_text"
    /// An identify had its traits in `context.traits`.
    case contextTraits = "context_traits"

    init(_ fault: RefusedLine.RepairableFault) {
        switch fault {
        case .idNotString: self = .numericIDs
        case .loneSurrogate: self = .replacedText
        }
    }
}

/// How many events of a buffer each normalisation applies to. Contains only those that occurred.
package typealias NormalisationCounts = [Normalisation: Int]

extension NormalisationCounts {
    /// The counts of one scan.
    init(_ result: ScanResult) {
        self.init()
        if result.emptyIDs > 0 { self[.emptyIDs] = result.emptyIDs }
        if result.contextTraits > 0 { self[.contextTraits] = result.contextTraits }
    }

    mutating func add(_ others: NormalisationCounts) { merge(others) { $0 + $1 } }
}
