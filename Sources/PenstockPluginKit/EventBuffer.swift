import CPenstockPlugin

/// The events of an offer, one after the other in one array of bytes.
public struct EventBuffer: Sendable {
    /// A line feed follows each event: so the host need not copy them.
    private var bytes: [UInt8] = []
    /// Where the first event starts.
    private var start = 0
    /// The bytes are the lines of an array: nothing can be appended to them.
    private var hasLines = false
    /// Where each event ends, before its line feed.
    private var ends: [Int] = []
    private var places: [penstock_place] = []
    private var times: [Int64] = []
    /// The name of the host that received the events first, if it was another one: at most 255 bytes of UTF-8 without
    /// control characters; nil: not known.
    public var host: String?
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
    public var byteCount: Int { ends.last.map { $0 - start - (count - 1) } ?? 0 }

    /// - Parameter event: a JSON object, as an application sends it. What is not one is refused by the host.
    public mutating func append(_ event: [UInt8]) {
        bytes += event
        endEvent()
    }

    public mutating func append(_ event: String) {
        bytes += event.utf8
        endEvent()
    }

    /// Copies the bytes.
    public mutating func append(_ event: UnsafeRawBufferPointer) {
        unsafe bytes += event
        endEvent()
    }

    private mutating func endEvent() {
        precondition(!hasLines, "add the lines of the array, or begin another buffer")
        ends.append(bytes.count)
        bytes.append(0x0A)
    }

    /// Copies the bytes of an event that another host has stored.
    /// - Parameters:
    ///   - position, part: its place in the journal of `origin`. Places rise; the host leaves out an event that is not
    ///     above the one before.
    ///   - receivedAt: when that host received it, in nanoseconds since 1970-01-01 UTC; nil: not known. Either all
    ///     events of the buffer have one, or none.
    public mutating func append(
        _ event: UnsafeRawBufferPointer, position: UInt64, part: UInt32, receivedAt: Int64? = nil
    ) {
        unsafe append(event)
        places.append(penstock_place(position: position, part: part, reserved: 0))
        if let receivedAt { times.append(receivedAt) }
    }

    /// For events that lie one after the other in an array, each with a line feed behind it: they are not copied, but
    /// added with `appendLine`.
    /// - Parameters:
    ///   - origin: as above.
    ///   - start: where the first line starts.
    public init(origin: String?, lines: [UInt8], from start: Int) {
        precondition(lines.indices.contains(start) || start == lines.count, "the lines start outside of their array")
        self.origin = origin
        bytes = lines
        self.start = start
        hasLines = true
    }

    /// Adds the next line of the array that the buffer was made with.
    /// - Parameters:
    ///   - end: where its line feed is.
    ///   - position, part, receivedAt: as in `append`.
    public mutating func appendLine(to end: Int, position: UInt64, part: UInt32, receivedAt: Int64? = nil) {
        precondition(
            end >= ends.last.map { $0 + 1 } ?? start && end < bytes.count && bytes[end] == 0x0A,
            "a line does not end with a line feed behind the one before")
        ends.append(end)
        places.append(penstock_place(position: position, part: part, reserved: 0))
        if let receivedAt { times.append(receivedAt) }
    }

    /// Takes the memory for this many further events at once.
    public mutating func reserveCapacity(events: Int, bytes: Int) {
        self.bytes.reserveCapacity(self.bytes.count + bytes)
        ends.reserveCapacity(ends.count + events)
        guard origin != nil else { return }
        places.reserveCapacity(places.count + events)
        times.reserveCapacity(times.count + events)
    }

    /// Keeps the memory for the next events.
    public mutating func removeAll(origin: String? = nil) {
        bytes.removeAll(keepingCapacity: true)
        start = 0
        hasLines = false
        ends.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
        times.removeAll(keepingCapacity: true)
        host = nil
        self.origin = origin
    }

    /// - Parameter body: must not keep the places and times; there may be none of them.
    func withPlaces<Value>(_ body: (UnsafePointer<penstock_place>?, UnsafePointer<Int64>?) -> Value) -> Value {
        // Without an origin, places mean nothing.
        precondition(origin == nil || places.count == count, "an event of an origin has no place")
        precondition(times.isEmpty || times.count == count, "an event has no receive time, and others have one")
        return unsafe places.withUnsafeBufferPointer { places in
            unsafe times.withUnsafeBufferPointer { times in
                unsafe body(places.baseAddress, times.isEmpty ? nil : times.baseAddress)
            }
        }
    }

    /// - Parameter body: must not keep the strings.
    func withStrings<Value>(_ body: (UnsafeBufferPointer<penstock_string>) -> Value) -> Value {
        unsafe bytes.withUnsafeBytes { bytes in
            var start = self.start
            let strings = unsafe ends.map { end in
                defer { start = end + 1 }
                let data = unsafe bytes.baseAddress.map { unsafe ($0 + start).assumingMemoryBound(to: CChar.self) }
                return unsafe penstock_string(data: data, length: end - start)
            }
            return unsafe strings.withUnsafeBufferPointer { unsafe body($0) }
        }
    }
}
