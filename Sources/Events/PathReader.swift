import CSimdjson

/// Reads the values at a set of paths from one event after the other, and holds those of the last
/// one. Allocates nothing after it is made. Belongs to one thread.
@usableFromInline @safe package final class PathReader {
    /// How a reading went.
    package enum Answer: Sendable {
        case read
        /// One of the values has another of the same name before it in the event, which a change of the
        /// value would leave there.
        case readFromDuplicates
        /// These are not the bytes of an accepted event; every value is missing.
        case unreadable
    }

    private let paths: PathSet
    /// As many as there are paths. C fills them; a pointer, since an array of a class is asked for
    /// exclusive access with every look at it.
    @usableFromInline let found: UnsafeMutableBufferPointer<psj_value>

    package init(_ paths: PathSet) {
        self.paths = paths
        unsafe found = .allocate(capacity: paths.paths.count)
        unsafe found.initialize(repeating: psj_value(offset: .max, length: 0, type: FieldType.missing.rawValue))
    }

    deinit { unsafe found.deallocate() }

    /// Reads all the paths in one pass. Any value's own text may stand for an event: a list's paths
    /// then begin with an index, and a string or a number has nothing below it.
    ///
    /// - Parameter json: one event's bytes.
    package func read(_ json: Span<UInt8>) -> Answer {
        let answer = unsafe json.withUnsafeBufferPointer { json in
            unsafe psj_fetch(paths.compiled, json.baseAddress, json.count, found.baseAddress)
        }
        switch UInt32(bitPattern: answer) {
        case PSJ_FETCHED.rawValue: return .read
        case PSJ_FETCHED_FROM_DUPLICATES.rawValue: return .readFromDuplicates
        default: return .unreadable
        }
    }

    /// The value at the set's path of this number.
    @inlinable @inline(__always)
    package subscript(path: Int) -> FieldValue {
        precondition(unsafe path >= 0 && path < found.count, "the set has no path of this number")
        let value = unsafe found[path]
        return FieldValue(
            slice: Slice(offset: value.offset, length: value.length), type: FieldType(rawValue: value.type) ?? .missing)
    }
}
