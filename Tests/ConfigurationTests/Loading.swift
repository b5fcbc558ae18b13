@testable import Configuration

/// Loads a text as the file `p.yaml` of a machine with no credentials.
func load(_ text: String) -> LoadResult {
    ConfigurationLoader(credentialsDirectory: nil).load(text: text, named: "/etc/penstock/p.yaml")
}

/// Everything found in a text, as it is shown.
func shown(_ text: String) -> String {
    load(text).diagnostics.map(\.description).joined(separator: "\n")
}

/// The messages alone.
func messages(_ text: String) -> [String] { load(text).diagnostics.map(\.message) }

/// A valid configuration with `lines` below its one destination, a file.
func withFile(_ lines: String) -> String { withDestination("file: /d/out.ndjson\n" + lines) }

/// A valid configuration with `lines` as its one destination.
func withDestination(_ lines: String) -> String {
    """
    sources: { apps: { socket: /run/s } }
    routes: [ { to: [out] } ]
    destinations:
      out:
    \(lines.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n"))
    """
}

/// A valid configuration with `lines` below its one source.
func withSource(_ lines: String) -> String {
    """
    sources:
      apps:
        socket: /run/s
    \(lines.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n"))
    routes: [ { to: [out] } ]
    destinations: { out: { file: /d/out } }
    """
}

/// A valid configuration whose one route has `lines`.
func withRoute(_ lines: String) -> String {
    """
    sources: { apps: { socket: /run/s } }
    destinations: { out: { file: /d/out } }
    routes:
      - to: [out]
    \(lines.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n"))
    """
}
