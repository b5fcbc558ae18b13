import PenstockPluginKit

/// Which entries become events.
struct JournalFilter {
    /// NAME=value of journalctl: the same field twice is "or", different fields are "and".
    private struct Group {
        var fields: [(name: String, values: [String])] = []

        func matches(_ entry: LogEntry) -> Bool { fields.allSatisfy { entry.has($0.name, anyOf: $0.values) } }
    }

    /// The id of systemd-coredump's entries.
    private static let coredump = ["fc2e22bc6ee647b6b90729ab34a250b1"]
    private static let unitTypes = [
        "service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope",
    ]
    private static let maximumTerms = 100

    /// One of them matches; none: every entry does.
    private var groups: [Group] = []
    private let priorities: [String]
    private let units: [String]
    private let identifiers: [String]

    /// - Throws: an error that names the setting.
    init(_ settings: JournaldSourceSettings) throws(SourceError) {
        for (name, list) in [
            ("match", settings.match), ("units", settings.units), ("identifiers", settings.identifiers),
        ] {
            guard let list, list.count > Self.maximumTerms else { continue }
            throw SourceError("settings.\(name): has \(list.count) items, and the most are \(Self.maximumTerms)")
        }
        units = (settings.units ?? []).map { unit in
            let type = unit.split(separator: ".").last.map(String.init)
            return unit.contains(".") && Self.unitTypes.contains(type ?? "") ? unit : "\(unit).service"
        }
        identifiers = settings.identifiers ?? []
        priorities = settings.priority.map { (0...$0.number).map(String.init) } ?? []
        groups = try Self.groups(settings.match ?? [], longest: settings.longestValue)
    }

    func matches(_ entry: LogEntry) -> Bool {
        if !priorities.isEmpty, !entry.has("PRIORITY", anyOf: priorities) { return false }
        if !identifiers.isEmpty, !entry.has("SYSLOG_IDENTIFIER", anyOf: identifiers) { return false }
        if !units.isEmpty, !isOfUnit(entry) { return false }
        return groups.isEmpty || groups.contains { $0.matches(entry) }
    }

    /// As journalctl --unit: the unit's own entries, and what systemd and the kernel's helpers say of it.
    private func isOfUnit(_ entry: LogEntry) -> Bool {
        if entry.has("_SYSTEMD_UNIT", anyOf: units) || entry.has("_SYSTEMD_SLICE", anyOf: units) { return true }
        if entry.has("UNIT", anyOf: units), entry.has("_PID", anyOf: ["1"]) { return true }
        guard entry.has("_UID", anyOf: ["0"]) else { return false }
        return entry.has("OBJECT_SYSTEMD_UNIT", anyOf: units)
            || (entry.has("COREDUMP_UNIT", anyOf: units) && entry.has("MESSAGE_ID", anyOf: Self.coredump))
    }

    private static func groups(_ terms: [String], longest: Int) throws(SourceError) -> [Group] {
        guard !terms.isEmpty else { return [] }
        var groups = [Group()]
        for term in terms {
            if term == "+" {
                groups.append(Group())
                continue
            }
            let halves = term.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, isName(halves[0]) else {
                throw SourceError(
                    "settings.match: \"\(term)\" must be FIELD=value, such as _SYSTEMD_UNIT=nginx.service, or \"+\"")
            }
            let (name, value) = (String(halves[0]), String(halves[1]))
            guard value.utf8.count <= longest else {
                throw SourceError(
                    "settings.match: the value of \(name) is longer than settings.max_value, \(longest) bytes, so that"
                        + " no entry could match")
            }
            let last = groups.count - 1
            if let index = groups[last].fields.firstIndex(where: { $0.name == name }) {
                groups[last].fields[index].values.append(value)
            } else {
                groups[last].fields.append((name, [value]))
            }
        }
        guard groups.allSatisfy({ !$0.fields.isEmpty }) else {
            throw SourceError("settings.match: a \"+\" must stand between two groups of FIELD=value")
        }
        return groups
    }

    /// Also for settings.fields.
    static func isName(_ name: some StringProtocol) -> Bool {
        1...64 ~= name.utf8.count
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
