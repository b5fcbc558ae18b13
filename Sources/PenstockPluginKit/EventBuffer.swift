import CPenstockPlugin

/// The events of an offer, one after the other in one array of bytes.
public struct EventBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var places: [penstock_place] = []
    /// The sequence in which another host stored the events before, a UUID; nil: none did, or they are repeated on
    /// purpose. With it, each event is appended with its place in the sequence, and the host leaves out those that the
    /// lane has brought in before.
    public private(set) var origin: String?

    public init() {}

    /// - Parameter origin: a UUID, 8-4-4-4-12 hexadecimal digits.
    public init(origin: String?) { self.origin = origin }

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

    /// Copies the bytes of an event with its place in the journal of `origin`.
    /// - Parameters:
    ///   - position, part: the place. Places rise; the host leaves out an event that is not above the one before.
    public mutating func append(_ event: UnsafeRawBufferPointer, position: UInt64, part: UInt32) {
        unsafe append(event)
        places.append(penstock_place(position: position, part: part, reserved: 0))
    }

    /// Takes the memory for this many further events at once.
    public mutating func reserveCapacity(events: Int, bytes: Int) {
        self.bytes.reserveCapacity(self.bytes.count + bytes)
        ends.reserveCapacity(ends.count + events)
        if origin != nil { places.reserveCapacity(places.count + events) }
    }

    /// Keeps the memory for the next events.
    public mutating func removeAll(origin: String? = nil) {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        self.origin = origin
    }

    /// - Parameter body: must not keep the places.
    func withPlaces<Value>(_ body: (UnsafePointer<penstock_place>?) -> Value) -> Value {
        // Without an origin, places mean nothing.
        precondition(origin == nil || places.count == count, "an event of an origin has no place")
        return unsafe places.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
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
