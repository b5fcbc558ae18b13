import CSimdjson

/// Reads the values at a set of paths from events that came through the door. Belongs to one
/// thread; any number of path sets.
@safe package final class PathReader {
    private let parser: OpaquePointer
    private var found: [psj_value] = []
    /// Of the last event: whether one of the values has another of the same name before it in the
    /// event, which a change of the value would leave there.
    package private(set) var sawDuplicates = false

    /// - Parameters: the limits of the largest event that will be read; as `EventScanner`'s.
    package init(maximumEventSize: Int, maximumDepth: Int) {
        precondition(
            (1...(256 << 20)).contains(maximumEventSize) && maximumDepth > 0,
            "an event's limits are out of range: \(maximumEventSize) bytes, depth \(maximumDepth)")
        guard let parser = unsafe psj_parser_create(maximumEventSize, maximumDepth) else {
            preconditionFailure("no memory for a parser of \(maximumEventSize) bytes")
        }
        unsafe self.parser = parser
    }

    deinit { unsafe psj_parser_destroy(parser) }

    /// Reads all the paths in one pass. An array's own text may stand for an event: its paths
    /// then begin with an index.
    ///
    /// - Parameters:
    ///   - json: one event's bytes.
    ///   - values: becomes as long as `paths.paths`, and answers them in that order.
    /// - Returns: false if these are not the bytes of an accepted event, or they exceed this
    ///   reader's limits; every value is then missing.
    @discardableResult
    package func read(_ paths: PathSet, from json: Span<UInt8>, into values: inout [FieldValue]) -> Bool {
        let count = paths.paths.count
        while found.count < count { found.append(psj_value()) }
        if values.count > count { values.removeLast(values.count - count) }
        while values.count < count { values.append(.missing) }
        let answer = unsafe json.withUnsafeBufferPointer { json in
            unsafe found.withUnsafeMutableBufferPointer { found in
                let answer = unsafe psj_fetch(parser, paths.compiled, json.baseAddress, json.count, found.baseAddress)
                for k in 0..<count {
                    let value = unsafe found[k]
                    values[k] = FieldValue(
                        slice: Slice(offset: value.offset, length: value.length),
                        type: FieldType(rawValue: value.type) ?? .missing)
                }
                return answer
            }
        }
        sawDuplicates = answer == 2
        return answer != 1
    }
}
