import Platform

/// A path that is written to, or all paths that a template can make. Decides whether two of them conflict.
package struct WrittenPath: Sendable {
    /// How two paths can conflict.
    package enum Meeting: Sendable, Equatable {
        case same
        /// This path needs a directory where the other path is a file.
        case below
        /// The other path needs a directory where this path is a file.
        case above
    }

    /// There is only one path.
    package let isFixed: Bool
    private let pattern: PathPattern

    /// Resolves symbolic links in the existing part of the path, and changes nothing.
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

    /// How the two can conflict; nil: they can't. Errs on the side of a conflict.
    package func meeting(_ other: WrittenPath) -> Meeting? {
        guard pattern.meetsAsFarAs(other.pattern) else { return nil }
        let (mine, theirs) = (pattern.names.count, other.pattern.names.count)
        return mine == theirs ? .same : mine > theirs ? .below : .above
    }
}
