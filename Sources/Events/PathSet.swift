import CSimdjson

/// A compiled set of paths. It can be read from any number of events, in one pass each. Immutable; any thread.
@safe package final class PathSet: @unchecked Sendable {
    /// In the given order, including duplicates. The value with index k belongs to the path with index k.
    package let paths: [FieldPath]
    let compiled: OpaquePointer

    /// - Precondition: no path has more than `FieldPath.maximumSegments` segments.
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
}
