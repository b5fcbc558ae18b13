import PenstockPluginKit

/// The settings of a source.
struct NATSSourceSettings: Decodable {
    static let schema = """
        {"type": "object", "required": ["servers", "stream", "consumer"], "additionalProperties": false,
        "properties": {
        \(NATSConnectionSettings.schema),
        "stream": {"type": "string", "minLength": 1, "maxLength": 255, "description": "the stream to read"},
        "consumer": {"type": "string", "minLength": 1, "maxLength": 200,
            "description": "the name of the durable consumer; daemons with the same name share the work"},
        "subjects": {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 1000},
            "description": "such as events.*; each has its own order; default: the whole stream"},
        "subject": {"type": "string", "minLength": 1, "maxLength": 1000,
            "description": "with partitions, instead of subjects: such as penstock.events.{partition}"},
        "partitions": {"type": "string", "minLength": 1, "maxLength": 1000,
            "description": "the numbers to read, such as 0-63 or 0-15,32; each has its own order"},
        "batch": {"type": "integer", "minimum": 1, "maximum": 10000,
            "description": "messages that a request asks for; default: 1000"},
        "batch_bytes": {"type": "integer", "minimum": 1, "maximum": 1073741824,
            "description": "their bytes; two requests may be open for each lane; default: the server's max_payload"},
        "wait": {"type": "string", "description": "how long the server waits for messages; default: 10s"},
        "leases": {"type": "string", "minLength": 1, "maxLength": 200,
            "description": "the key-value bucket by which daemons share the subjects; default: penstock_leases"}}}
        """

    private enum CodingKeys: String, CodingKey {
        case stream, consumer, subjects, subject, partitions, batch, wait, leases
        case batchBytes = "batch_bytes"
    }

    /// Each lane has a thread.
    private static let maximumSubjects = 64

    var connection: NATSConnectionSettings
    var stream: String
    var consumer: String
    /// nil: the whole stream.
    var subjects: [String]?
    private var subject: String?
    private var partitions: String?
    var batch: Int
    var batchBytes: Int?
    var wait: DurationSetting
    var leases: String

    init(from decoder: any Decoder) throws {
        connection = try NATSConnectionSettings(from: decoder)
        let values = try decoder.container(keyedBy: CodingKeys.self)
        stream = try values.decode(String.self, forKey: .stream)
        consumer = try values.decode(String.self, forKey: .consumer)
        subjects = try values.decodeIfPresent([String].self, forKey: .subjects)
        subject = try values.decodeIfPresent(String.self, forKey: .subject)
        partitions = try values.decodeIfPresent(String.self, forKey: .partitions)
        batch = try values.decodeIfPresent(Int.self, forKey: .batch) ?? 1000
        batchBytes = try values.decodeIfPresent(Int.self, forKey: .batchBytes)
        wait = try values.decodeIfPresent(DurationSetting.self, forKey: .wait) ?? DurationSetting(.seconds(10))
        leases = try values.decodeIfPresent(String.self, forKey: .leases) ?? "penstock_leases"
    }

    /// - Throws: an error that names the invalid setting.
    mutating func validate() throws(SourceError) {
        try connection.validate()
        if subject != nil || partitions != nil { try expandPartitions() }
        for (setting, name) in [("stream", stream), ("consumer", consumer)] where !Self.isName(name) {
            throw SourceError(
                "settings.\(setting): \"\(name)\" is not a name; white space and . * > / \\ are not allowed")
        }
        guard leases.utf8.allSatisfy({ Self.isAlphanumeric($0) || "-_".utf8.contains($0) }) else {
            throw SourceError(
                "settings.leases: \"\(leases)\" is not a name of a bucket; use letters, digits, - and _")
        }
        try wait.check("wait", .seconds(1)...(.seconds(600)))
        guard let subjects else { return }
        guard !subjects.isEmpty, subjects.count <= Self.maximumSubjects else {
            throw SourceError(
                "settings.subjects: must have 1 to \(Self.maximumSubjects) subjects; leave it out for the whole stream")
        }
        for subject in subjects where !NATSSubject.isFilter(subject) {
            throw SourceError("settings.subjects: \"\(subject)\" is not a subject; write for example events.*")
        }
        for (index, subject) in subjects.enumerated() {
            for other in subjects[..<index] where NATSSubject.overlaps(subject, other) {
                throw SourceError(
                    "settings.subjects: \"\(other)\" and \"\(subject)\" share subjects, whose messages would come "
                        + "twice; change one of them")
            }
        }
    }

    /// Makes a subject of each partition.
    private mutating func expandPartitions() throws(SourceError) {
        guard let subject, let partitions else {
            let missing = subject == nil ? "subject" : "partitions"
            throw SourceError("settings.\(missing): is missing; subject and partitions belong together")
        }
        guard subjects == nil else {
            throw SourceError("settings.subjects: cannot be given with subject and partitions; remove one of them")
        }
        let pattern = try NATSPartitionSubject(subject)
        subjects = try Self.numbers(in: partitions).map { pattern.subject(of: $0) }
    }

    /// The numbers of a list such as `0-15,32`.
    private static func numbers(in text: String) throws(SourceError) -> [Int] {
        func invalid(_ why: String) -> SourceError {
            SourceError("settings.partitions: \"\(text)\" \(why); write for example 0-63 or 0-15,32")
        }
        var numbers: [Int] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map {
                $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int($0) : nil
            }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first <= last,
                last < 4096
            else { throw invalid("is not a list of numbers from 0 to 4095 and ranges") }
            // Before the range is made: it may be long.
            guard numbers.count + last - first < maximumSubjects else {
                throw invalid("has more than \(maximumSubjects) partitions: let several sources read them")
            }
            numbers += first...last
        }
        guard Set(numbers).count == numbers.count else { throw invalid("has a number twice") }
        return numbers
    }

    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !".*>/\\".utf8.contains($0) }
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
