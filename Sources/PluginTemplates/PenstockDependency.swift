/// Where a plugin's package finds the package of Penstock.
package enum PenstockDependency: Sendable, Equatable {
    /// The absolute path of a checkout.
    case path(String)
    /// A repository, of which the branch `main` is used.
    case url(String)

    /// Whether the text is the URL of a repository, and not a path: `https://…`, `ssh://…`, `git@host:…`.
    package static func isURL(_ text: String) -> Bool {
        text.contains("://") || text.hasPrefix("git@")
    }

    /// The line of Package.swift.
    var declaration: String {
        switch self {
        // A package at a path is named for its directory, whose name may be any.
        case .path(let path): ".package(name: \"\(identity)\", path: \(Self.literal(path)))"
        case .url(let url): ".package(url: \(Self.literal(url)), branch: \"main\")"
        }
    }

    /// The name by which products of the package are found. SwiftPM takes it from the end of the URL.
    var identity: String {
        guard case .url(let url) = self else { return "penstock" }
        let last = url.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? "penstock"
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    private static func literal(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
