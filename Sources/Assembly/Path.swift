/// Operations on paths as text.
package enum Path {
    /// The part before the last slash; `/` for a file in the root.
    package static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
