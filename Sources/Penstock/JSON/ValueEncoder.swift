/// What a value encodes itself to: the place in a writer's text where it is due. Three words, so that no
/// box is needed for it.
///
/// Coding paths are not kept; they would be for messages alone.
struct ValueEncoder: Encoder, SingleValueEncodingContainer {
    let writer: JSONWriter
    private let depth: Int
    private let extent: Int

    init(_ writer: JSONWriter) {
        self.writer = writer
        depth = writer.depth
        extent = writer.extent
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(ObjectContainer<Key>(writer, writer.begin(isObject: true, depth: depth, extent: extent)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        ListContainer(writer, writer.begin(isObject: false, depth: depth, extent: extent))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws {
        try checkPlace()
        try writer.putNull()
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        try checkPlace()
        try writer.put(value)
    }

    private func checkPlace() throws(JSONWriterError) {
        if writer.depth != depth || writer.extent != extent { throw .twoValues }
    }
}

/// An object that is being filled.
struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let writer: JSONWriter
    private let place: JSONWriter.Place

    init(_ writer: JSONWriter, _ place: JSONWriter.Place) {
        self.writer = writer
        self.place = place
    }

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws {
        try writer.enter(place, key: key.stringValue)
        try writer.putNull()
    }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try writer.enter(place, key: key.stringValue)
        try writer.put(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
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
        do { try writer.enter(place, key: key, isNested: isNested) } catch { writer.fail(error) }
    }
}

/// A list that is being filled.
struct ListContainer: UnkeyedEncodingContainer {
    private let writer: JSONWriter
    private let place: JSONWriter.Place
    private(set) var count = 0

    init(_ writer: JSONWriter, _ place: JSONWriter.Place) {
        self.writer = writer
        self.place = place
    }

    var codingPath: [any CodingKey] { [] }

    mutating func encodeNil() throws {
        try writer.enter(place)
        count += 1
        try writer.putNull()
    }

    mutating func encode<Value: Encodable>(_ value: Value) throws {
        try writer.enter(place)
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
        do { try writer.enter(place) } catch { writer.fail(error) }
    }
}
