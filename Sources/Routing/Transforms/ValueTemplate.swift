import Events

/// The value that a transform writes. In the configuration:
///
/// - `"pro"`, `3`, `true`, `null`: a constant.
/// - `$.context.ip`: the value of that field, of any type. Nothing is written if the field is missing.
/// - `"{{ event }} on {{ context.os.name }}"`: a text with fields filled in. A missing or null field adds nothing, a
///   number or boolean its spelling, a list or object its JSON.
/// - Lists and objects of these. Missing members and items are left out.
/// - `{ $literal: … }`: a constant that is not interpreted, even if it looks like one of the above.
package indirect enum ValueTemplate: Sendable, Equatable {
    /// JSON text.
    case constant([UInt8])
    case field(FieldPath)
    case text([TemplateText.Piece])
    case list([ValueTemplate])
    case object([Member])

    package struct Member: Sendable, Equatable {
        /// The name as a JSON string, and the colon.
        var key: [UInt8]
        var value: ValueTemplate
    }

    /// Levels of nested lists and objects.
    static let maximumDepth = 32

    /// - Parameter keys: the place of the value, for errors.
    package init(_ value: JSONValue, keys: [String]) throws(TransformError) {
        func fail(_ fault: FilterError) -> TransformError { TransformError(keys: keys, isKey: false, fault: fault) }
        guard keys.count <= Self.maximumDepth else {
            throw fail(FilterError(0..<0, "this value is nested more than \(Self.maximumDepth) levels deep"))
        }
        switch value {
        case .string(let text):
            do { self = try Self.parse(text) } catch { throw fail(error) }
        case .list(let items):
            var parts: [ValueTemplate] = []
            for (i, item) in items.enumerated() { parts.append(try ValueTemplate(item, keys: keys + ["\(i)"])) }
            self = .list(parts)
        case .object(let members):
            if members.count == 1, members[0].name == "$literal" {
                try Self.checkLiteral(members[0].value, keys: keys + ["$literal"])
                self = Self.json(members[0].value)
                return
            }
            var parts: [Member] = []
            for member in members {
                if member.name.hasPrefix("$") {
                    let fault = FilterError(
                        0..<member.name.utf8.count, "\(member.name) is not supported here",
                        hint: "to set a member of that name, wrap the object in { $literal: … }")
                    throw TransformError(keys: keys + [member.name], isKey: true, fault: fault)
                }
                var key: [UInt8] = []
                JSONValue.append(member.name, to: &key)
                key.append(UInt8(ascii: ":"))
                parts.append(Member(key: key, value: try ValueTemplate(member.value, keys: keys + [member.name])))
            }
            self = .object(parts)
        case .null, .bool, .number:
            try Self.checkLiteral(value, keys: keys)
            self = Self.json(value)
        }
        // Render a list or object without fields once, when the configuration is read.
        if paths.isEmpty {
            switch self {
            case .list, .object: self = Self.json(value.withoutDirectives)
            case .constant, .field, .text: break
            }
        }
    }

    private static func json(_ value: JSONValue) -> ValueTemplate {
        var json: [UInt8] = []
        value.append(to: &json)
        return .constant(json)
    }

    /// Checks the nesting depth.
    private static func checkLiteral(_ value: JSONValue, keys: [String]) throws(TransformError) {
        guard keys.count <= maximumDepth + 1 else {
            let fault = FilterError(0..<0, "this value is nested more than \(maximumDepth) levels deep")
            throw TransformError(keys: keys, isKey: false, fault: fault)
        }
        switch value {
        case .list(let items):
            for (i, item) in items.enumerated() { try checkLiteral(item, keys: keys + ["\(i)"]) }
        case .object(let members):
            for member in members { try checkLiteral(member.value, keys: keys + [member.name]) }
        case .null, .bool, .number, .string: break
        }
    }

    private static func parse(_ text: String) throws(FilterError) -> ValueTemplate {
        if text.hasPrefix("$.") {
            do { return .field(try FieldPath(parsing: String(text.dropFirst(2)))) } catch { throw error.shifted(by: 2) }
        }
        let pieces = try TemplateText.parse(text)
        guard pieces.contains(where: { if case .path = $0 { true } else { false } }) else { return json(.string(text)) }
        return .text(pieces)
    }

    /// All fields that the template reads.
    var paths: [FieldPath] {
        switch self {
        case .constant: []
        case .field(let path): [path]
        case .text(let pieces): pieces.compactMap { if case .path(let path) = $0 { path } else { nil } }
        case .list(let items): items.flatMap(\.paths)
        case .object(let members): members.flatMap(\.value.paths)
        }
    }
}

extension JSONValue {
    /// The value with each `{ $literal: … }` replaced by its content.
    fileprivate var withoutDirectives: JSONValue {
        switch self {
        case .null, .bool, .number, .string: self
        case .list(let items): .list(items.map(\.withoutDirectives))
        case .object(let members) where members.count == 1 && members[0].name == "$literal": members[0].value
        case .object(let members): .object(members.map { Member($0.name, $0.value.withoutDirectives) })
        }
    }
}
