import DaemonConfiguration
import ConfigurationSyntax
import Routing

/// The reference of the configuration: its man page, and its page in the book. The keys come from the declarations that
/// the configuration is read with.
struct ConfigurationPage<Writer: PageWriter> {
    private var page: Writer

    var text: String { page.text }

    /// - Parameter page: with its title.
    init(_ page: Writer) {
        self.page = page
        description()
        keys()
        transforms()
        mapping()
        fileDestinations()
        warnings()
        files()
        self.page.section("Examples")
        self.page.prose("Every event is written to a file, and orders are also sent to a service over HTTP:")
        self.page.example(Self.example)
        self.page.section("See also")
        self.page.prose(
            "penstock(1), penstockd(8), penstock-filters(7), penstock-mapping(7), penstock-scripts(7), "
                + "penstock-transforms(7), strftime(3)")
    }

    private mutating func description() {
        page.section("Description")
        page.prose(
            """
            The configuration is YAML 1.2. penstockd(8) reads /etc/penstock/penstock.yaml, then conf.d/*.yaml beside \
            it in name order. Maps are merged by key, the lists routes and pipeline are appended, and a key that is \
            set twice is an error. Relative paths are relative to the file that contains them. Below, NAME is a name \
            of your choice.

            A duration is a whole number and a unit: 50us, 200ms, 5s, 10m, 24h, 7d. A size is a number of bytes, or a \
            number and a unit: 32KiB, 1MiB, 20GiB. A secret is written !secret NAME, or {{ secret.NAME }} inside a \
            string, and is read from $CREDENTIALS_DIRECTORY or secrets.directory.

            penstock check validates a configuration. penstock check --schema prints the keys below as a JSON Schema \
            for editors.
            """)
    }

    private mutating func keys() {
        for field in Configuration.fields where field.isSupported {
            page.section(field.name)
            page.prose(Self.sentence(field.summary))
            keys(field.type, below: field.name)
        }
    }

    private mutating func fileDestinations() {
        page.section("File destinations")
        page.prose(
            """
            In the path of a file destination, {{ properties.tenant }} is replaced by that field of the output, which \
            a mapping or columns may have changed. Letters, digits and - _ . of a value are kept; every other byte is \
            written as %XX. So a value never adds a directory, and different values give different names. Inside a \
            value, the characters that surround the field in the template are also written as %XX, and so is a dot in \
            the last path component. A field that is missing, null, a list or an object becomes _missing, and an empty \
            string becomes _empty. A value of more than 96 bytes is cut, and a hash is appended. When events have \
            created new_files files within an hour, _overflow replaces the values of events that would need another \
            file. The limits of keep apply to the whole destination.

            A rotated file is renamed beside the live one: events.ndjson.gz becomes \
            events.2026-01-31T12-00-00Z.1.ndjson.gz. If another program (logrotate) renames or removes the live file, \
            the daemon creates a new one and writes a line to its log.

            In CSV, a null or missing field is empty, and an empty string is two quotes. Other values are not changed. \
            A spreadsheet may interpret a value that begins with = as a formula.
            """)
    }

    private mutating func warnings() {
        page.section("Warnings")
        page.prose(
            """
            A configuration with warnings is valid. penstock check prints them, and fails with --deny-warnings. The \
            daemon logs them when it starts, and penstock reload prints them. Below, … is a part that varies.
            """)
        for warning in WarningDescription.all { page.item(warning.message, "", warning.action) }
    }

    private mutating func files() {
        page.section("Files")
        page.item("/etc/penstock/penstock.yaml", "", "The configuration.")
        page.item("/etc/penstock/conf.d/*.yaml", "", "Further parts of the configuration, read in name order.")
        page.item("/etc/penstock/presets/*.yaml", "", "Your own presets.")
        page.item("/etc/penstock/tests/*.yaml", "", "Tests of the configuration, run by penstock test.")
        page.item("/usr/share/penstock/penstock.schema.json", "", "The keys of the configuration as a JSON Schema.")
    }

    private static var example: String {
        """
        sources:
          apps:
            socket: /run/penstock/events.sock
        journal:
          directory: /var/lib/penstock/journal
          retain: { time: 7d, size: 20GiB }
        routes:
          - name: everything
            to: [archive]
          - name: orders
            where: type = "track" and event = "Order Completed"
            transforms:
              - drop: [properties.debug]
            to: [collector]
        destinations:
          archive:
            file: /var/lib/penstock/archive/%Y-%m-%d.ndjson.zst
          collector:
            http: https://collector.example/v1/events
            format: ndjson
            headers: { Authorization: "Bearer {{ secret.collector }}" }
        """
    }

    /// Appends the keys of a section, and the keys below them, with their full names.
    private mutating func keys(_ shape: FieldShape, below name: String) {
        switch shape {
        case .section(let fields):
            for field in fields where field.isSupported { key(field, below: name) }
        case .map(let value): keys(value, below: "\(name).NAME")
        case .list(let item):
            if case .section = item { keys(item, below: "\(name)[]") }
        case .variants(let variants):
            let kinds = variants.filter { $0.value == nil }
            // The keys that all kinds have are listed only once.
            let common = Set(kinds.first?.shared.map(\.name) ?? []).filter { key in
                kinds.allSatisfy { $0.shared.contains { $0.name == key } }
            }
            // "destinations.NAME"
            let owner = name.prefix { $0 != "." }.dropLast()
            page.subsection("Keys of every \(owner)")
            for field in kinds.first?.shared ?? [] where common.contains(field.name) && field.isSupported {
                key(field, below: name)
            }
            for variant in kinds {
                let keys = ([variant.key] + variant.alternatives).joined(separator: " or ")
                page.subsection("Keys of a \(owner) with \(keys)")
                for field in variant.own + variant.shared where !common.contains(field.name) && field.isSupported {
                    key(field, below: name)
                }
            }
            for variant in variants {
                guard let value = variant.value, !variant.own.isEmpty else { continue }
                page.subsection("Keys of a \(owner) with \(variant.key): \(value)")
                for field in variant.own where field.isSupported { key(field, below: name) }
            }
        case .filled(let shape): keys(shape, below: name)
        case .either(let shapes): for shape in shapes { keys(shape, below: name) }
        default: break
        }
    }

    private mutating func key(_ field: FieldDescription, below name: String) {
        var words = Self.sentence(field.summary)
        if let usual = field.defaultText { words += " Default: \(usual)." }
        if field.isRequired { words += " Required." }
        page.item("\(name).\(field.name)", Self.kind(field.type), words)
        keys(field.type, below: "\(name).\(field.name)")
    }

    /// The type of a value in a few words; empty for a map of further keys.
    private static func kind(_ shape: FieldShape) -> String {
        switch shape {
        case .text(let what): what
        case .flag: "true or false"
        case .integer: "a whole number"
        case .number: "a number"
        case .size: "a size"
        case .duration: "a duration"
        case .mode: "an octal mode"
        case .choice(let names): names.joined(separator: ", ")
        case .section, .variants, .unsupported: ""
        case .map: "a map"
        case .list(let item): "a list" + (kind(item).isEmpty ? "" : " of: \(kind(item))")
        case .filled(let shape): kind(shape)
        case .either(let shapes): shapes.map(kind).filter { !$0.isEmpty }.joined(separator: ", or ")
        case .transform: "transforms"
        case .mapping: "a mapping"
        case .anything: "anything"
        }
    }

    private mutating func transforms() {
        guard case .transform(let transforms) = FieldShape.anyTransform else { return }
        page.section("transforms")
        page.prose(
            "Each item of a list of transforms is a map with one of these keys. It may also have the key where: "
                + "a filter that selects the events to transform.")
        for transform in transforms {
            page.item(transform.name, Self.kind(transform.type), Self.sentence(transform.summary))
        }
    }

    private mutating func mapping() {
        page.section("mapping")
        page.prose(
            "A plain value is a constant. $.properties.total is a field of the event. "
                + "\"{{ event }} of {{ userId }}\" is a string that contains fields. "
                + "An object with one of these keys is replaced by the directive's result:"
        )
        for directive in Directive.all { page.item(directive.name, "", Self.sentence(directive.summary)) }
    }

    private static func sentence(_ words: String) -> String {
        words.prefix(1).uppercased() + words.dropFirst() + (words.hasSuffix(".") ? "" : ".")
    }
}
