import Glibc

/// One event in a body.
package struct FleetEvent: Equatable {
    package var place: FleetPlace
    /// Nanoseconds since 1970-01-01 UTC.
    package var receivedAt: Int64
    /// Its JSON, in the bytes of the body.
    package var range: Range<Int>
}

/// Writes and reads a body before it is compressed. Pure.
package enum FleetBody {
    /// The most events of a body that is read; edges send at most 20,000. What is read of a small event takes far more
    /// memory than its bytes.
    package static let maximumEvents = 100_000

    /// Appends the table. The events follow, each with a line feed.
    /// - Parameter events: in rising order of their places.
    package static func append(
        _ events: some Collection<(place: FleetPlace, receivedAt: Int64)>, to body: inout [UInt8]
    ) {
        for shift in stride(from: 0, to: 32, by: 8) {
            body.append(UInt8(truncatingIfNeeded: UInt32(clamping: events.count) >> UInt32(shift)))
        }
        var position: UInt64 = 0
        var time: Int64 = 0
        for event in events {
            append(event.place.position &- position, to: &body)
            append(UInt64(event.place.part), to: &body)
            let distance = event.receivedAt &- time
            append(UInt64(bitPattern: distance << 1 ^ distance >> 63), to: &body)
            (position, time) = (event.place.position, event.receivedAt)
        }
    }

    private static func append(_ value: UInt64, to body: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            body.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        body.append(UInt8(truncatingIfNeeded: value))
    }

    /// Reads a body that may come from anyone.
    /// - Returns: nil if it is not one: then it was not written by this format's version.
    package static func read(_ body: [UInt8]) -> [FleetEvent]? {
        guard body.count >= 4 else { return nil }
        let count = Int(body[0]) | Int(body[1]) << 8 | Int(body[2]) << 16 | Int(body[3]) << 24
        // Each event has three bytes in the table, and a line of at least one byte.
        guard count <= (body.count - 4) / 4, count <= maximumEvents else { return nil }
        var at = 4
        var events: [FleetEvent] = []
        events.reserveCapacity(count)
        var position: UInt64 = 0
        var time: Int64 = 0
        for _ in 0..<count {
            guard let distance = value(body, &at), let part = value(body, &at), let later = value(body, &at),
                let part = UInt32(exactly: part)
            else { return nil }
            position &+= distance
            time &+= Int64(bitPattern: later >> 1) ^ -Int64(bitPattern: later & 1)
            events.append(
                FleetEvent(place: FleetPlace(position: position, part: part), receivedAt: time, range: 0..<0))
        }
        return lines(body, from: at, &events) ? events : nil
    }

    /// - Returns: whether there is one line for each event, and nothing else.
    private static func lines(_ body: [UInt8], from start: Int, _ events: inout [FleetEvent]) -> Bool {
        unsafe body.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            var start = start
            for number in events.indices {
                guard let end = unsafe memchr(base + start, 0x0A, bytes.count - start) else { return false }
                let next = unsafe UnsafeRawPointer(end) - base + 1
                events[number].range = start..<next - 1
                start = next
            }
            return start == bytes.count
        }
    }

    private static func value(_ body: [UInt8], _ at: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while at < body.count {
            let byte = body[at]
            at += 1
            if shift == 63, byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
            shift += 7
            if shift > 63 { return nil }
        }
        return nil
    }
}
