import Events

/// A limit that a service sets for one place of its input. A missing value breaks no limit except `required`.
package struct OutputLimit: Sendable, Equatable {
    /// The spelling of a time.
    package enum Unit: String, Sendable, CaseIterable {
        case rfc3339, seconds, milliseconds, microseconds, nanoseconds
    }

    /// What is limited.
    package enum Scope: String, Sendable, CaseIterable {
        /// An event, after its mapping.
        case event
        /// The text around the events of a request.
        case body
    }

    package var scope = Scope.event
    /// The place in the output: names separated by dots. `*` stands for every member or item. Empty: the whole output.
    package var path: [String] = []
    /// Names that `*` in the path does not stand for.
    package var exceptions: [String] = []
    package var isRequired = false
    /// For texts: the pattern that the whole text must match.
    package var pattern: TextPattern?
    /// Texts that the service rejects.
    package var refused: [String] = []
    /// For texts: in characters. Numbers and booleans count as they are spelled.
    package var minimumLength: Int?
    package var maximumLength: Int?
    /// The most members of an object, or items of a list.
    package var maximumMembers: Int?
    /// The pattern that the names of an object's members must match.
    package var names: TextPattern?
    /// The pattern that none of these names may match.
    package var refusedNames: TextPattern?
    /// Most bytes of the JSON.
    package var maximumSize: Int?
    /// For times: the furthest in the past and in the future, by this machine's clock.
    package var oldest: Duration?
    package var newest: Duration?
    package var unit = Unit.rfc3339
    /// Whether an event that breaks the limit is changed, so that it does not, instead of rejected.
    package var isMending = false

    package init() {}

    package var pathText: String {
        get { path.joined(separator: ".") }
        set {
            path =
                newValue.isEmpty
                ? [] : newValue.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        }
    }
}

/// All input that a service is known to reject. A local check avoids sending an event in vain, and the loss of an event
/// that the service discards silently. Limits that mend are applied first, in their order.
package struct LimitSet: Sendable, Equatable {
    package var limits: [OutputLimit]

    package init(_ limits: [OutputLimit]) { self.limits = limits }

    /// The limits of events, or those of the text around them.
    package func limits(of scope: OutputLimit.Scope) -> LimitSet { LimitSet(limits.filter { $0.scope == scope }) }

    /// The first limit that an event breaks, and what is expected. Nil: it breaks no limit. The text names fields, but
    /// contains no values.
    /// - Parameters:
    ///   - json: valid JSON.
    ///   - time: the current time, in nanoseconds since 1970-01-01 UTC.
    package func problem(with json: Span<UInt8>, at time: Int64) -> String? {
        for limit in limits {
            if let problem = LimitCheck(limit, time).problem(with: json) { return problem }
        }
        return nil
    }

    /// Whether an event may be changed.
    package var mends: Bool { limits.contains(where: \.isMending) }

    /// An event with what its limits that mend have changed. Nil: they change nothing.
    /// - Parameters: as those of `problem`.
    package func mended(_ json: Span<UInt8>, at time: Int64) -> [UInt8]? {
        var result: [UInt8]?
        for limit in limits where limit.isMending {
            let mend = LimitMend(limit, time)
            if let changed = result {
                result = mend.changed(changed.span) ?? changed
            } else {
                result = mend.changed(json)
            }
        }
        return result
    }
}
