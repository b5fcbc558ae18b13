import CSimdjson

/// Where a field lies in an event: `context.os.name`, `properties.products.0.sku`. Segments are
/// decoded; one of digits also names an item of a list.
package struct FieldPath: Hashable, Sendable {
    package var segments: [String]

    /// Of a path in a set that is read from events.
    package static var maximumSegments: Int { Int(PSJ_PATH_LIMIT) }

    package init(_ segments: [String]) {
        precondition(!segments.isEmpty, "a path has at least one segment")
        self.segments = segments
    }
}
