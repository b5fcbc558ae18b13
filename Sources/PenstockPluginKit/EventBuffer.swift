import CPenstockPlugin

/// The events of an offer, one after the other in one array of bytes.
public struct EventBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    public init() {}

    public init(_ events: some Sequence<String>) { for event in events { append(event) } }

    public var count: Int { ends.count }
    public var isEmpty: Bool { ends.isEmpty }
    /// The bytes of all events.
    public var byteCount: Int { bytes.count }

    /// - Parameter event: a JSON object, as an application sends it. What is not one is refused by the host.
    public mutating func append(_ event: [UInt8]) {
        bytes += event
        ends.append(bytes.count)
    }

    public mutating func append(_ event: String) {
        bytes += event.utf8
        ends.append(bytes.count)
    }

    /// Copies the bytes.
    public mutating func append(_ event: UnsafeRawBufferPointer) {
        unsafe bytes += event
        ends.append(bytes.count)
    }

    /// Keeps the memory for the next events.
    public mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    /// - Parameter body: must not keep the strings.
    func withStrings<Value>(_ body: (UnsafeBufferPointer<penstock_string>) -> Value) -> Value {
        unsafe bytes.withUnsafeBytes { bytes in
            var start = 0
            let strings = unsafe ends.map { end in
                defer { start = end }
                let data = unsafe bytes.baseAddress.map { unsafe ($0 + start).assumingMemoryBound(to: CChar.self) }
                return unsafe penstock_string(data: data, length: end - start)
            }
            return unsafe strings.withUnsafeBufferPointer { unsafe body($0) }
        }
    }
}
