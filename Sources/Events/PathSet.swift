import CSimdjson

/// Paths compiled once, to be read from any number of events in one pass each. Immutable; any
/// thread.
@safe package final class PathSet: @unchecked Sendable {
    /// How a reading went.
    package enum Answer: Sendable {
        case read
        /// One of the values has another of the same name before it in the event, which a change of the
        /// value would leave there.
        case readFromDuplicates
        /// These are not the bytes of an accepted event; every value is missing.
        case unreadable
    }

    /// As given, duplicates and all: the k-th value that is read answers the k-th path.
    package let paths: [FieldPath]
    private let compiled: OpaquePointer

    /// - Precondition: no path has more than `FieldPath.maximumSegments`.
    package init(_ paths: [FieldPath]) {
        var text: [UInt8] = []
        var lengths: [UInt32] = []
        var counts: [UInt32] = []
        for path in paths {
            for segment in path.segments {
                text.append(contentsOf: segment.utf8)
                lengths.append(UInt32(segment.utf8.count))
            }
            counts.append(UInt32(path.segments.count))
        }
        guard let compiled = unsafe psj_paths_create(text, lengths, counts, paths.count) else {
            preconditionFailure("no memory for \(paths.count) paths, or one of them is too long")
        }
        self.paths = paths
        unsafe self.compiled = compiled
    }

    deinit { unsafe psj_paths_destroy(compiled) }

    /// Reads all the paths in one pass. Any value's own text may stand for an event: a list's paths
    /// then begin with an index, and a string or a number has nothing below it.
    ///
    /// - Parameters:
    ///   - json: one event's bytes.
    ///   - values: becomes as long as `paths`, and answers them in that order.
    package func read(_ json: Span<UInt8>, into values: inout PathValues) -> Answer {
        values.resize(to: paths.count)
        let answer = unsafe json.withUnsafeBufferPointer { json in
            unsafe values.found.withUnsafeMutableBufferPointer { found in
                unsafe psj_fetch(compiled, json.baseAddress, json.count, found.baseAddress)
            }
        }
        switch UInt32(bitPattern: answer) {
        case PSJ_FETCHED.rawValue: return .read
        case PSJ_FETCHED_FROM_DUPLICATES.rawValue: return .readFromDuplicates
        default: return .unreadable
        }
    }
}

/// What was read from one event. Whoever reads reuses one for ever.
package struct PathValues: Sendable {
    @usableFromInline var found: [psj_value] = []

    package init() {}

    @inlinable @inline(__always)
    package var count: Int { found.count }

    @inlinable @inline(__always)
    package subscript(path: Int) -> FieldValue {
        let value = found[path]
        return FieldValue(
            slice: Slice(offset: value.offset, length: value.length), type: FieldType(rawValue: value.type) ?? .missing)
    }

    fileprivate mutating func resize(to count: Int) {
        if found.count > count { found.removeLast(found.count - count) }
        while found.count < count { found.append(psj_value(offset: .max, length: 0, type: FieldType.missing.rawValue)) }
    }
}
