extension Analytics {
    /// A step that every event passes through before it is held or passed to providers. Steps run in the thread that
    /// recorded the event, in the order in which they were added.
    ///
    /// ```swift
    /// analytics.use(.redact("email", "phone"))
    /// analytics.use(.filter { $0.name != "Heartbeat" })
    /// analytics.use(.enrich { $0[property: "build"] = "release" })
    /// ```
    public struct Middleware: Sendable {
        private let step: @Sendable (inout RecordedEvent) -> Bool

        /// Creates a step.
        ///
        /// - Parameter step: May change the event. Returns false to drop it. It is called from many threads at once.
        public init(_ step: @escaping @Sendable (inout RecordedEvent) -> Bool) { self.step = step }

        /// Returns a step that changes events, or adds to them.
        public static func enrich(_ change: @escaping @Sendable (inout RecordedEvent) -> Void) -> Middleware {
            Middleware { event in
                change(&event)
                return true
            }
        }

        /// Returns a step that keeps the events for which the closure returns true, and drops all others.
        public static func filter(_ isIncluded: @escaping @Sendable (RecordedEvent) -> Bool) -> Middleware {
            Middleware { isIncluded($0) }
        }

        /// Returns a step that removes the properties and traits with these names, including those in nested objects
        /// and arrays.
        public static func redact(_ names: String...) -> Middleware {
            let names = Set(names)
            return Middleware { event in
                if event.properties.contains(anyOf: names) {
                    event.properties = event.properties.removing(names)
                    event.source = nil
                }
                if event.traits.contains(anyOf: names) { event.traits = event.traits.removing(names) }
                return true
            }
        }

        /// - Returns: Whether to keep the event.
        func process(_ event: inout RecordedEvent) -> Bool { step(&event) }
    }
}

extension [String: PropertyValue] {
    fileprivate func contains(anyOf names: Set<String>) -> Bool {
        contains { names.contains($0.key) || $0.value.contains(anyOf: names) }
    }

    fileprivate func removing(_ names: Set<String>) -> [String: PropertyValue] {
        filter { !names.contains($0.key) }.mapValues { $0.removing(names) }
    }
}

extension PropertyValue {
    fileprivate func contains(anyOf names: Set<String>) -> Bool {
        switch self {
        case .dictionary(let members): members.contains(anyOf: names)
        case .array(let values): values.contains { $0.contains(anyOf: names) }
        default: false
        }
    }

    fileprivate func removing(_ names: Set<String>) -> PropertyValue {
        switch self {
        case .dictionary(let members): .dictionary(members.removing(names))
        case .array(let values): .array(values.map { $0.removing(names) })
        default: self
        }
    }
}
