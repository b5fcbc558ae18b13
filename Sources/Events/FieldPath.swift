import CSimdjson

/// The path of a field in an event: `context.os.name`, `properties.products.0.sku`. Segments are decoded. A segment of
/// digits also selects an array item.
package struct FieldPath: Hashable, Sendable {
    package var segments: [String]

    /// The longest path that a `PathSet` can read.
    package static var maximumSegments: Int { Int(PSJ_PATH_LIMIT) }

    package init(_ segments: [String]) {
        precondition(!segments.isEmpty, "a path has at least one segment")
        self.segments = segments
    }
}
