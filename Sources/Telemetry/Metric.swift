/// The declaration of a metric. Its samples are written with `MetricsText`.
package struct Metric: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// Only grows. It starts again from 0 with the daemon, or with a reload that replaces its owner.
        case counter
        case gauge
        /// Durations in seconds.
        case histogram
    }

    /// A counter ends with `_total`.
    package var name: String
    package var kind: Kind
    /// One sentence without a full stop: what it counts or measures, with the unit.
    package var help: String
    /// The names of its labels, in the order of their values.
    package var labels: [String]

    package init(_ name: String, _ kind: Kind, labels: [String] = [], _ help: String) {
        precondition(
            (kind == .counter) == name.hasSuffix("_total"), "\(name): counters, and only they, end with _total")
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
    }
}
