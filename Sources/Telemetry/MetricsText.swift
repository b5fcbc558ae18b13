/// Writes metrics as text that Prometheus and other collectors read.
///
/// The samples of a metric follow its declaration directly, and a metric is declared once. A metric without samples is
/// left out. Label values may hold any characters: they are escaped.
package struct MetricsText {
    package enum Format: Sendable, Hashable, CaseIterable {
        /// Prometheus text format 0.0.4.
        case prometheus
        /// OpenMetrics 1.0.
        case openMetrics

        package var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    private let format: Format
    private var bytes: [UInt8] = []
    private var current: Metric?
    private var isDeclared = false

    package init(_ format: Format) { self.format = format }

    /// Declares the metric of the next samples.
    package mutating func declare(_ metric: Metric) {
        current = metric
        isDeclared = false
    }

    private mutating func writeDeclaration(of metric: Metric) {
        // In OpenMetrics, `_total` belongs to a counter's samples, not to its name.
        let isBare = format == .openMetrics && metric.kind == .counter
        let name = isBare ? String(metric.name.dropLast("_total".count)) : metric.name
        write("# HELP \(name) ")
        write(escaping: metric.help, quote: format == .openMetrics)
        write("\n# TYPE \(name) \(metric.kind.rawValue)\n")
    }

    package mutating func sample(_ value: UInt64, _ labels: String...) {
        begin("", labels)
        write("\(value)\n")
    }

    package mutating func sample(_ value: Double, _ labels: String...) {
        begin("", labels)
        write(Self.number(value) + "\n")
    }

    package mutating func sample(_ value: Bool, _ labels: String...) {
        begin("", labels)
        write(value ? "1\n" : "0\n")
    }

    package mutating func sample(_ histogram: Histogram.Snapshot, _ labels: String...) {
        var sum: UInt64 = 0
        for (index, count) in histogram.counts.enumerated() {
            sum &+= count
            // Always with a fraction: a collector that sometimes reads OpenMetrics sees the same label.
            let bound =
                index < histogram.bounds.count ? Self.number(Double(histogram.bounds[index]) / 1e9) : "+Inf"
            begin("_bucket", labels, upTo: bound)
            write("\(sum)\n")
        }
        begin("_sum", labels)
        write(Self.number(histogram.sum) + "\n")
        begin("_count", labels)
        write("\(sum)\n")
    }

    /// The complete text.
    package consuming func finish() -> [UInt8] {
        if format == .openMetrics { write("# EOF\n") }
        return bytes
    }

    // MARK: Parts

    private mutating func begin(_ suffix: String, _ values: [String], upTo bound: String? = nil) {
        guard let metric = current else { preconditionFailure("a sample needs a declaration") }
        if !isDeclared { writeDeclaration(of: metric) }
        isDeclared = true
        precondition(metric.labels.count == values.count, "\(metric.name) has the labels \(metric.labels)")
        write(metric.name)
        write(suffix)
        var separator = "{"
        for (name, value) in zip(metric.labels, values) {
            write(separator + name + "=\"")
            write(escaping: value, quote: true)
            write("\"")
            separator = ","
        }
        if let bound {
            write(separator + "le=\"" + bound + "\"")
            separator = ","
        }
        write(separator == "{" ? " " : "} ")
    }

    private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private mutating func write(escaping text: String, quote: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): write("\\\\")
            case UInt8(ascii: "\n"): write("\\n")
            case UInt8(ascii: "\"") where quote: write("\\\"")
            default: bytes.append(byte)
            }
        }
    }

    /// As the formats want it: `0.25`, `1.0`, `+Inf`, `NaN`.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return "\(value)"
    }
}
