import Events

/// Reads the same fields of one event after the other. One thread.
final class FieldReader {
    private let paths: PathSet
    /// Made when it is first needed, and again for larger events.
    private var reader: PathReader?
    private var readerSize = 0
    private(set) var values: [FieldValue] = []

    init(_ paths: [FieldPath]) { self.paths = PathSet(paths) }

    /// Puts into `values` what lies at the paths: nothing, if this is neither an object nor a list.
    func read(_ json: Span<UInt8>) {
        guard !paths.paths.isEmpty else { return }
        if json.count > readerSize { reader = nil }
        let reader = self.reader ?? make(for: json.count)
        reader.read(paths, from: json, into: &values)
    }

    private func make(for size: Int) -> PathReader {
        readerSize = max(Self.smallest, size + size / 2)
        let made = PathReader(maximumEventSize: readerSize, maximumDepth: Self.maximumDepth)
        reader = made
        return made
    }

    /// Bytes; the usual limit of an event.
    private static let smallest = 32 << 10
    /// Deeper than an event may be when it comes, since transforms can nest one field in another.
    private static let maximumDepth = 4096
}
