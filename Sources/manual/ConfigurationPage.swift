import Configuration
import ConfigurationLanguage
import Routing

/// The page of the configuration: every key, from the declarations that it is read by.
struct ConfigurationPage {
    private(set) var text = ""
    private var roff: Roff

    init(version: String) {
        roff = Roff(title: "penstock.yaml", section: 5, version: version)
        roff.section("Name")
        roff.prose("penstock.yaml - configuration of the analytics router penstock")
        roff.section("Description")
        roff.prose(
            """
            YAML 1.2. penstockd(8) reads /etc/penstock/penstock.yaml, then conf.d/*.yaml beside it in the order of their \
            names. Maps are merged by key, the lists routes and pipeline are appended, and a key set twice is an error. \
            Relative paths are relative to the file that they stand in. Below, NAME is a name of your own.

            Durations are a whole number and a unit: 200ms, 5s, 10m, 24h, 7d. Sizes are bytes, or have a unit: 32KiB, \
            1MiB, 20GiB. A secret is written !secret NAME, or {{ secret.NAME }} inside a text, and read from \
            $CREDENTIALS_DIRECTORY or secrets.directory.

            penstock check finds what is wrong with a configuration; penstock check --schema prints the keys below for \
            editors.
            """)
        for field in Configuration.fields where field.isSupported {
            roff.section(field.name)
            roff.prose(Self.sentence(field.summary))
            keys(field.type, below: field.name)
        }
        transforms()
        mapping()
        roff.section("Names of files")
        roff.prose(
            """
            In the path of a file destination, {{ properties.tenant }} stands for that field of what is written (with a \
            mapping or columns: of what those make). Letters, digits, and - _ . inside a value stay, every other byte is \
            written %XX, so that a value is always a part of one name and different values have different names; what the \
            template has itself around a value is written %XX in it, too, and so is a dot in the last name. A field that is \
            missing, null, a list or an object is _missing, an empty text is _empty. Values of more than 96 bytes are cut, \
            with a hash behind. When events have made new_files files within an hour, those that call for another have \
            _overflow in place of their values. Sizes and numbers of keep are those of the whole destination.

            A file that is rotated is renamed beside the live one: events.ndjson.gz to events.2026-01-31T12-00-00Z.1.ndjson.gz. \
            A file that others rename or remove (logrotate) is begun anew, with a line in the log.

            In CSV, null and a missing field are nothing between two commas, an empty text is two quotes. Values are \
            written as they are: a spreadsheet takes one that begins with = for a formula.
            """)
        roff.section("Warnings")
        roff.prose(
            """
            A configuration with warnings is valid. penstock check prints them, and fails on them with --deny-warnings; the \
            daemon logs them when it starts, and penstock reload reports them. Below, … stands for what differs.
            """)
        for warning in WarningDescription.all { roff.item(warning.message, "", warning.action) }
        roff.section("Files")
        roff.item("/usr/share/penstock/penstock.schema.json", "", "The same keys as a JSON Schema.")
        roff.section("See also")
        roff.prose("penstock(1), penstockd(8), strftime(3)")
        text = roff.text
    }

    /// The keys of a section and those below them, each with its whole name.
    private mutating func keys(_ shape: FieldShape, below name: String) {
        switch shape {
        case .section(let fields):
            for field in fields where field.isSupported { key(field, below: name) }
        case .map(let value): keys(value, below: "\(name).NAME")
        case .list(let item):
            if case .section = item { keys(item, below: "\(name)[]") }
        case .variants(let variants):
            let kinds = variants.filter { $0.value == nil }
            // Said once: what all of them have.
            let common = Set(kinds.first?.shared.map(\.name) ?? []).filter { key in
                kinds.allSatisfy { $0.shared.contains { $0.name == key } }
            }
            roff.subsection("Keys of every kind")
            for field in kinds.first?.shared ?? [] where common.contains(field.name) && field.isSupported { key(field, below: name) }
            for variant in kinds {
                roff.subsection("Keys of one that has \(variant.key)")
                for field in variant.own + variant.shared where !common.contains(field.name) && field.isSupported { key(field, below: name) }
            }
            for variant in variants {
                guard let value = variant.value, !variant.own.isEmpty else { continue }
                roff.subsection("Keys of one that has \(variant.key): \(value)")
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
        roff.item("\(name).\(field.name)", Self.kind(field.type), words)
        keys(field.type, below: "\(name).\(field.name)")
    }

    /// What may stand there, in a word or two; empty for a map of further keys.
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
        roff.section("transforms")
        roff.prose("Each item of a list of transforms is a map with one of these keys, and perhaps where: a filter that says for which events.")
        for transform in transforms { roff.item(transform.name, Self.kind(transform.type), Self.sentence(transform.summary)) }
    }

    private mutating func mapping() {
        roff.section("mapping")
        roff.prose(
            "A value is itself; $.properties.total is a field of the event; \"{{ event }} of {{ userId }}\" is a text with fields in it; an object with one of these keys is what the directive makes:")
        for directive in Directive.all { roff.item(directive.name, "", Self.sentence(directive.summary)) }
    }

    private static func sentence(_ words: String) -> String {
        words.prefix(1).uppercased() + words.dropFirst() + (words.hasSuffix(".") ? "" : ".")
    }
}
