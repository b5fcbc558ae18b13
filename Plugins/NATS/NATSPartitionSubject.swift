import PenstockPluginKit

/// The subjects of a destination with `format: penstock`: one for each partition.
struct NATSPartitionSubject {
    private static let placeholder = "{partition}"

    /// Before and behind the partition's number.
    private let prefix: String
    private let suffix: String

    /// - Throws: an error that names the setting.
    init(_ text: String) throws(SinkError) {
        func invalid(_ why: String) -> SinkError {
            SinkError("settings.subject: \"\(text)\" \(why); write for example penstock.events.{partition}")
        }
        guard let range = text.firstRange(of: Self.placeholder) else {
            throw invalid("has no {partition}, which format: penstock needs")
        }
        prefix = String(text[..<range.lowerBound])
        suffix = String(text[range.upperBound...])
        for part in [prefix, suffix] where part.contains(where: { "{}".contains($0) }) {
            throw invalid("has another placeholder than one {partition}; with format: penstock there is no other")
        }
        let sample = prefix + "0" + suffix
        guard NATSSubject.isFilter(sample), !sample.contains(where: { "*>$".contains($0) }) else {
            throw invalid("is not a subject")
        }
        guard text.utf8.count <= NATSSubject.maximumLength else {
            throw invalid("has more than \(NATSSubject.maximumLength) bytes")
        }
    }

    /// A subject with wildcards that has all partitions.
    var pattern: String {
        (prefix + "*" + suffix).split(separator: ".").map { $0.contains("*") ? "*" : String($0) }
            .joined(separator: ".")
    }

    func subject(of partition: Int) -> String { "\(prefix)\(partition)\(suffix)" }
}
