import Platform

/// Where something is written: one path, or all those that a template can come to. Tells whether two get in
/// each other's way.
package struct WrittenPath: Sendable {
    /// How one path can lie to another.
    package enum Meeting: Sendable, Equatable {
        case same
        /// It needs a directory where the other is.
        case below
        /// The other one needs a directory where it is.
        case above
    }

    /// It is always the same path.
    package let isFixed: Bool
    private let pattern: PathPattern

    /// Looks at the disk for symbolic links in what there is of it, and changes nothing.
    package init(_ options: FileDestinationOptions, _ disk: SystemDisk) {
        self.init(PathPattern(options.path), disk)
    }

    /// - Parameter path: absolute.
    package init(_ path: String, _ disk: SystemDisk) {
        self.init(PathPattern(literal: path), disk)
    }

    private init(_ pattern: PathPattern, _ disk: SystemDisk) {
        self.pattern = pattern.resolved { disk.realPath($0) }
        isFixed = pattern.path != nil
    }

    /// nil: they cannot meet. Where it cannot be told, they can.
    package func meeting(_ other: WrittenPath) -> Meeting? {
        guard pattern.meetsAsFarAs(other.pattern) else { return nil }
        let (mine, theirs) = (pattern.names.count, other.pattern.names.count)
        return mine == theirs ? .same : mine > theirs ? .below : .above
    }
}
