/// The encoder for one value: a writer, and the position in its text where the value is expected. It has three words,
/// so that an existential holds it without allocation.
///
/// Coding paths are not recorded, because only error messages would use them.
struct ValueEncoder: Encoder, SingleValueEncodingContainer {
    let writer: JSONWriter
    let opening: JSONBuilder.Opening

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(ObjectContainer<Key>(writer, writer.builder.begin(isObject: true, at: opening)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        ListContainer(writer, writer.builder.begin(isObject: false, at: opening))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws {
        try writer.builder.check(opening)
        try writer.builder.putNull()
    }

    func encode(_ value: String) throws {
        try writer.builder.check(opening)
        try writer.builder.put(value)
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try writer.builder.check(opening)
        try writer.put(value)
    }
}

/// An object in progress.
struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let writer: JSONWriter
    private let place: JSONBuilder.Place

    init(_ writer: JSONWriter, _ place: JSONBuilder.Place) {
        self.writer = writer
        self.place = place
    }

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws {
        try writer.builder.enter(place, key: key.stringValue)
        try writer.builder.putNull()
    }

    // The most common property types, without a dynamic lookup of their conformance.
    func encode(_ value: String, forKey key: Key) throws { try writer.builder.put(value, place, key.stringValue) }
    func encode(_ value: Bool, forKey key: Key) throws { try writer.builder.put(value, place, key.stringValue) }
    func encode(_ value: Int, forKey key: Key) throws { try writer.builder.put(value, place, key.stringValue) }
    func encode(_ value: Double, forKey key: Key) throws { try writer.builder.put(value, place, key.stringValue) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try writer.builder.enter(place, key: key.stringValue)
        try writer.put(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<
        Nested
    > {
        enter(key.stringValue, isNested: true)
        let (writer, place) = writer.beginNested(isObject: true)
        return KeyedEncodingContainer(ObjectContainer<Nested>(writer, place))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        enter(key.stringValue)
        let (writer, place) = writer.beginNested(isObject: false)
        return ListContainer(writer, place)
    }

    func superEncoder() -> any Encoder { deferred("super") }
    func superEncoder(forKey key: Key) -> any Encoder { deferred(key.stringValue) }

    private func deferred(_ key: String) -> ValueEncoder {
        enter(key)
        return writer.deferred()
    }

    private func enter(_ key: String, isNested: Bool = false) {
        // An error is kept by the builder, and thrown by the next method that can throw.
        try? writer.builder.enter(place, key: key, isNested: isNested)
    }
}

/// An array in progress.
struct ListContainer: UnkeyedEncodingContainer {
    private let writer: JSONWriter
    private let place: JSONBuilder.Place
    private(set) var count = 0

    init(_ writer: JSONWriter, _ place: JSONBuilder.Place) {
        self.writer = writer
        self.place = place
    }

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws {
        try writer.builder.enter(place)
        count += 1
        try writer.builder.putNull()
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try writer.builder.enter(place)
        count += 1
        try writer.put(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        enter()
        let (writer, place) = writer.beginNested(isObject: true)
        return KeyedEncodingContainer(ObjectContainer<Nested>(writer, place))
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        enter()
        let (writer, place) = writer.beginNested(isObject: false)
        return ListContainer(writer, place)
    }

    mutating func superEncoder() -> any Encoder {
        enter()
        return writer.deferred()
    }

    private mutating func enter() {
        count += 1
        try? writer.builder.enter(place)
    }
}
