import Events

/// A type of setting: the shape of its value, and the conversion of such a value.
struct SettingType<Value: Sendable>: Sendable {
    let shape: SettingShape
    /// Nil only for a value that does not fit the shape.
    let decode: @Sendable (SettingValue) -> Value?
    /// The value as a user writes it, for defaults. Nil: nothing worth showing.
    let show: @Sendable (Value) -> String?

    init(
        _ shape: SettingShape, show: @escaping @Sendable (Value) -> String? = { _ in nil },
        decode: @escaping @Sendable (SettingValue) -> Value?
    ) {
        self.shape = shape
        self.decode = decode
        self.show = show
    }
}

/// One key of a transform: its name, type, default and meaning.
struct Setting<Target: Sendable>: Sendable {
    let name: String
    /// The default is the value in the target.
    let describe: @Sendable (Target) -> SettingDescription
    let assign: @Sendable (SettingValue, inout Target) -> Void

    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Target, Value> & Sendable, _ type: SettingType<Value>,
        required: Bool = false, _ summary: String
    ) {
        self.name = name
        describe = { target in
            SettingDescription(
                name: name, shape: type.shape, summary: summary, isRequired: required,
                defaultText: required ? nil : type.show(target[keyPath: path]))
        }
        assign = { value, target in
            if let value = type.decode(value) { target[keyPath: path] = value }
        }
    }

    /// An optional setting. It is nil if it is left out.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Target, Value?> & Sendable, _ type: SettingType<Value>,
        default defaultText: String? = nil, _ summary: String
    ) {
        self.name = name
        describe = { _ in
            SettingDescription(
                name: name, shape: type.shape, summary: summary, isRequired: false, defaultText: defaultText)
        }
        assign = { value, target in
            if let value = type.decode(value) { target[keyPath: path] = value }
        }
    }
}

extension SettingType where Value == Bool {
    static var flag: SettingType {
        SettingType(.flag, show: { "\($0)" }) { if case .flag(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value == Int {
    /// A number of bytes.
    /// - Parameter show: the default as a user writes it.
    static func size(_ bounds: ClosedRange<Int>, show: String) -> SettingType {
        SettingType(.size(bounds), show: { _ in show }) { if case .integer(let value) = $0 { value } else { nil } }
    }

    static func integer(_ bounds: ClosedRange<Int>) -> SettingType {
        SettingType(.integer(bounds), show: { "\($0)" }) { if case .integer(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value == Double {
    static func number(_ bounds: ClosedRange<Double>) -> SettingType {
        SettingType(.number(bounds), show: { "\($0)" }) { if case .number(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value == Duration {
    static func duration(_ bounds: ClosedRange<Duration>) -> SettingType {
        SettingType(
            .duration(bounds),
            show: { $0 < .seconds(1) ? "\(Int($0 / .milliseconds(1)))ms" : "\($0.components.seconds)s" }
        ) {
            if case .duration(let value) = $0 { value } else { nil }
        }
    }
}

extension SettingType where Value == String {
    static func text(_ what: String) -> SettingType {
        SettingType(.text(what), show: { $0.isEmpty ? nil : $0 }) {
            if case .text(let value) = $0 { value } else { nil }
        }
    }
}

extension SettingType where Value == ScriptText {
    static func script(_ language: String) -> SettingType {
        SettingType(.script(language)) { if case .script(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    static var choice: SettingType {
        SettingType(.choice(Value.allCases.map(\.rawValue)), show: \.rawValue) {
            if case .text(let name) = $0 { Value(rawValue: name) } else { nil }
        }
    }
}

extension SettingType where Value == FieldPath {
    static var path: SettingType {
        SettingType(.path, show: { "\($0)" }) { if case .path(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value == Filter {
    static var filter: SettingType {
        SettingType(.filter, show: \.source) { if case .filter(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value == ValueTemplate {
    static var template: SettingType {
        SettingType(.template) { if case .template(let value) = $0 { value } else { nil } }
    }
}

extension SettingType where Value == SecretText {
    static var secret: SettingType {
        SettingType(.secret) { if case .secret(let value) = $0 { value } else { nil } }
    }
}

extension SettingType {
    static func list<Item>(of item: SettingType<Item>) -> SettingType where Value == [Item] {
        SettingType(
            .list(of: item.shape),
            show: { items in items.isEmpty ? nil : "[\(items.compactMap(item.show).joined(separator: ", "))]" }
        ) { if case .list(let items) = $0 { items.compactMap(item.decode) } else { nil } }
    }

    /// Keeps the order in which the entries are written.
    static func paths<Item>(to item: SettingType<Item>) -> SettingType where Value == [PathSetting<Item>] {
        SettingType(.map(keys: .paths, of: item.shape)) {
            guard case .map(let entries) = $0 else { return nil }
            return entries.compactMap { entry in
                guard let path = entry.path, let value = item.decode(entry.value) else { return nil }
                return PathSetting(key: entry.key, path: path, value: value)
            }
        }
    }

    /// Keeps the order in which the entries are written.
    static func names<Item>(_ what: String, to item: SettingType<Item>) -> SettingType
    where Value == [NameSetting<Item>] {
        SettingType(.map(keys: .text(what), of: item.shape)) {
            guard case .map(let entries) = $0 else { return nil }
            return entries.compactMap { entry in
                item.decode(entry.value).map { NameSetting(name: entry.key, value: $0) }
            }
        }
    }
}

/// `properties.plan: VALUE`
struct PathSetting<Value: Sendable>: Sendable {
    /// As written, for errors.
    var key: String
    var path: FieldPath
    var value: Value
}

/// `Signed Up: VALUE`
struct NameSetting<Value: Sendable>: Sendable {
    var name: String
    var value: Value
}
