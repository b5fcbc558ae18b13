import CSimdjson

/// Finds the parts of a tracking request's body: one event, or a batch with its items. Holds those of the last body.
/// Allocates memory only when it is created, 80 bytes for each item. Belongs to one thread.
@safe package final class RequestIndex {
    /// An event, or the envelope of a batch. Slices are relative to the body.
    package struct Object: Sendable {
        private let found: psj_request_object

        init(_ found: psj_request_object) { self.found = found }

        /// The bytes, brackets included. An item that is not an object has only this.
        package var range: Range<Int> { Int(found.offset)..<Int(found.offset) + Int(found.length) }
        package var type: FieldValue { FieldValue(found.type) }
        package var context: FieldValue { FieldValue(found.context) }
        package var integrations: FieldValue { FieldValue(found.integrations) }
        package var sentAt: FieldValue { FieldValue(found.sent_at) }
        package var writeKey: FieldValue { FieldValue(found.write_key) }
        /// The array of items.
        package var batch: FieldValue { FieldValue(found.batch) }
    }

    /// The most items that are kept.
    package let maximumItems: Int
    /// The number of items in the batch. It may be above the maximum.
    package private(set) var itemCount = 0
    private var envelope = psj_request_object()
    private let items: UnsafeMutableBufferPointer<psj_request_object>

    /// - Precondition: the maximum is 0 or above, and enough memory is available.
    package init(maximumItems: Int) {
        self.maximumItems = maximumItems
        unsafe items = .allocate(capacity: maximumItems)
        unsafe items.initialize(repeating: psj_request_object())
    }

    deinit { unsafe items.deallocate() }

    /// Reads a body that is one event.
    /// - Returns: false if the body is not an object. It may return true for an object that is not valid JSON.
    package func readEvent(_ body: Span<UInt8>) -> Bool {
        itemCount = 0
        return unsafe body.withUnsafeBufferPointer { body in
            unsafe psj_index_event(body.baseAddress, body.count, &envelope) != 0
        }
    }

    /// Reads a body that is a batch.
    /// - Returns: false if the body is not an object. If it returns true, the body is valid JSON if each item is valid
    ///   by itself and the body with another value in place of the array `batch` is valid.
    package func readBatch(_ body: Span<UInt8>) -> Bool {
        var count = 0
        let isRead = unsafe body.withUnsafeBufferPointer { body in
            unsafe psj_index_batch(body.baseAddress, body.count, &envelope, items.baseAddress, maximumItems, &count)
                != 0
        }
        itemCount = count
        return isRead
    }

    /// The event, or the envelope of the batch.
    package var body: Object { Object(envelope) }

    /// - Precondition: the item exists, and is below the maximum.
    package subscript(item: Int) -> Object {
        precondition(item >= 0 && item < min(itemCount, maximumItems), "the batch has no item of this number")
        return unsafe Object(items[item])
    }
}

extension Span<UInt8> {
    /// Whether a line feed, a vertical tab, a form feed or a carriage return occurs. Fast if none does.
    package var hasLineBreak: Bool {
        unsafe withUnsafeBufferPointer { unsafe psj_has_line_break($0.baseAddress, $0.count) != 0 }
    }
}

extension [UInt8] {
    /// Replaces line feeds and carriage returns by spaces.
    /// - Precondition: the bytes are valid JSON, in which these are white space.
    package mutating func replaceLineBreaks() {
        unsafe withUnsafeMutableBufferPointer { unsafe psj_replace_line_breaks($0.baseAddress, $0.count) }
    }
}

extension FieldValue {
    init(_ value: psj_value) {
        self.init(
            slice: Slice(offset: value.offset, length: value.length), type: FieldType(rawValue: value.type) ?? .missing)
    }
}
