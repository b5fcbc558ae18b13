/// The fields of an entry that was read, in one array of bytes.
struct LogEntry {
    private(set) var bytes: [UInt8] = []
    private(set) var fields: [(name: Range<Int>, value: Range<Int>)] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    /// Adds a field, written as NAME=value.
    /// - Parameter longest: the rest of a longer value is left out, except for one byte, by which it is recognised.
    mutating func add(_ data: UnsafeRawBufferPointer, longest: Int) {
        guard let equals = unsafe data.firstIndex(of: UInt8(ascii: "=")) else { return }
        let start = bytes.count
        unsafe bytes.append(contentsOf: data.prefix(equals + 1 + longest + 1))
        fields.append((start..<start + equals, start + equals + 1..<bytes.count))
    }

    func name(_ field: Int) -> ArraySlice<UInt8> { bytes[fields[field].name] }

    /// Whether an entry has this field with one of the values. An entry may have a field several times.
    func has(_ name: StaticString, anyOf values: [String]) -> Bool {
        !values.isEmpty
            && fields.indices.contains { index in
                isNamed(index, name) && isValue(index, anyOf: values)
            }
    }

    func has(_ name: String, anyOf values: [String]) -> Bool {
        fields.indices.contains { self.name($0).elementsEqual(name.utf8) && isValue($0, anyOf: values) }
    }

    func has(_ name: StaticString) -> Bool { fields.indices.contains { isNamed($0, name) } }

    /// The first value of a field as text.
    func text(_ name: StaticString) -> String? {
        fields.indices.first { isNamed($0, name) }
            .map { String(decoding: bytes[fields[$0].value], as: UTF8.self) }
    }

    private func isValue(_ field: Int, anyOf values: [String]) -> Bool {
        let value = bytes[fields[field].value]
        return values.contains { $0.utf8.elementsEqual(value) }
    }

    private func isNamed(_ field: Int, _ name: StaticString) -> Bool {
        unsafe self.name(field).elementsEqual(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
}
