import Events
import Platform

/// What an earlier host told about a batch's events, before the position of their lane. Format.md specifies the layout.
///
/// The records' delays then count from the time here, in units that let the latest event fit: a millisecond, unless the
/// events were received more than a minute apart.
struct ReceiptRecord: Equatable {
    /// Empty: not known.
    var host: String
    /// When the first of the events was received, to the millisecond, in nanoseconds since 1970-01-01 UTC.
    var first: Int64
    /// Milliseconds; 0: the times are not known.
    var unit: UInt32

    /// The flag of a batch with a lane that has such a record.
    static let flag: UInt16 = 4
    private static let fixedSize = 16
    /// The longest name of a host; what is longer is cut off.
    static let hostLimit = 255
    static let sizeLimit = fixedSize + hostLimit.paddedTo8
    private static let nanoseconds: Int64 = 1_000_000

    init(_ receipt: EarlierReceipt) {
        host = receipt.host.utf8.count <= Self.hostLimit ? receipt.host : ""
        guard let first = receipt.times.min(), let last = receipt.times.max() else {
            (self.first, unit) = (0, 0)
            return
        }
        // A whole millisecond, so that no delay adds to the loss of what lies below it.
        let part = first % Self.nanoseconds
        self.first = first.saturatingSubtract(part < 0 ? part + Self.nanoseconds : part)
        let span = last.saturatingSubtract(self.first) / Self.nanoseconds
        unit = UInt32(clamping: span / (Int64(RecordLayout.maximumDelay) + 1) + 1)
    }

    /// The delay of an event that was received then.
    func delay(of time: Int64) -> UInt16 {
        guard unit > 0 else { return 0 }
        return UInt16(clamping: time.saturatingSubtract(first) / Self.nanoseconds / Int64(unit))
    }

    /// nil: the times are not known.
    func time(of delay: UInt16) -> Int64? {
        unit > 0 ? first &+ Int64(delay) &* Int64(unit) &* Self.nanoseconds : nil
    }

    /// Appends the record: the host's name, zeros up to a multiple of eight, then the numbers, so that it can be found
    /// from its end.
    func append(to bytes: inout [UInt8]) {
        bytes += host.utf8
        bytes.pad()
        bytes.append(number: first)
        bytes.append(number: unit)
        bytes.append(number: UInt32(clamping: host.utf8.count))
    }

    /// Reads the record that ends at a place of a payload whose checksum matches.
    /// - Returns: nil if it is not valid.
    init?(_ payload: RawSpan, endingAt end: Int) {
        let start = end - Self.fixedSize
        guard start >= 0 else { return nil }
        first = payload.number(Int64.self, at: start)
        unit = payload.number(UInt32.self, at: start + 8)
        let length = Int(payload.number(UInt32.self, at: start + 12))
        guard length <= Self.hostLimit, start >= length.paddedTo8 else { return nil }
        let name = start - length.paddedTo8
        host = length == 0 ? "" : String(decoding: payload.array(name..<name + length), as: UTF8.self)
    }
}

/// When the events of a batch were received.
struct ReceiveTimes {
    /// The host that received them first; empty: this one, or not known.
    let host: String
    private let arrival: Int64
    private let receipt: ReceiptRecord?

    init(_ header: BatchHeader, _ payload: RawSpan) {
        arrival = header.receivedAt
        receipt =
            header.flags & ReceiptRecord.flag == 0 ? nil : LaneRecord.receipt(endOf: payload, flags: header.flags)
        host = receipt?.host ?? ""
    }

    /// When this host received an event.
    @inline(__always)
    func here(_ delay: UInt16) -> Int64 { receipt == nil ? arrival &+ Int64(delay) &* 1_000_000 : arrival }

    /// When the first host received it.
    @inline(__always)
    func first(_ delay: UInt16) -> Int64 {
        guard let receipt else { return here(delay) }
        return receipt.time(of: delay) ?? arrival
    }
}
