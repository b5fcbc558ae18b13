import CSimdjson

/// Reads the values at a set of paths from one event at a time. Holds the values of the last event. Allocates memory
/// only when it is created. Belongs to one thread.
@usableFromInline @safe package final class PathReader {
    /// The result of reading an event.
    package enum Answer: Sendable {
        case read
        /// For at least one of the values, the event contains an earlier field with the same key. An edit of the value
        /// would leave the earlier field in place.
        case readFromDuplicates
        /// The bytes are not an accepted event. Every value is missing.
        case unreadable
    }

    private let paths: PathSet
    /// One value per path, filled by C. It is a pointer because every access to an array in a class would check for
    /// exclusive access.
    @usableFromInline let found: UnsafeMutableBufferPointer<psj_value>

    package init(_ paths: PathSet) {
        self.paths = paths
        unsafe found = .allocate(capacity: paths.paths.count)
        unsafe found.initialize(repeating: psj_value(offset: .max, length: 0, type: FieldType.missing.rawValue))
    }

    deinit { unsafe found.deallocate() }

    /// Reads all the paths in one pass. It can also read any other JSON value: the paths into an array start
    /// with an index, and a string or a number has no fields.
    ///
    /// - Parameter json: the bytes of one event.
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

    /// The value at the path with this index in the set.
    @inlinable @inline(__always)
    package subscript(path: Int) -> FieldValue {
        precondition(unsafe path >= 0 && path < found.count, "the set has no path of this number")
        let value = unsafe found[path]
        return FieldValue(
            slice: Slice(offset: value.offset, length: value.length), type: FieldType(rawValue: value.type) ?? .missing)
    }

    /// Replaces the value at the path with this index, until the next event is read.
    package func replace(_ path: Int, with value: FieldValue) {
        precondition(unsafe path >= 0 && path < found.count, "the set has no path of this number")
        unsafe found[path] = psj_value(
            offset: value.slice.offset, length: value.slice.length, type: value.type.rawValue)
    }
}
