@testable import DaemonConfiguration

/// Loads a text as the file `p.yaml` on a machine without credentials.
func load(_ text: String) -> LoadResult {
    ConfigurationLoader(credentialsDirectory: nil).load(text: text, named: "/etc/penstock/p.yaml")
}

/// All diagnostics of a text, as an operator sees them.
func shown(_ text: String) -> String {
    load(text).diagnostics.map(\.description).joined(separator: "\n")
}

/// The messages of all diagnostics of a text.
func messages(_ text: String) -> [String] { load(text).diagnostics.map(\.message) }

/// A valid configuration with one file destination that has `lines` below its path.
func withFile(_ lines: String) -> String { withDestination("file: /d/out.ndjson\n" + lines) }

/// A valid configuration whose only destination consists of `lines`.
func withDestination(_ lines: String) -> String {
    """
    sources: { apps: { socket: /run/s } }
    routes: [ { to: [out] } ]
    destinations:
      out:
    \(lines.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n"))
    """
}

/// A valid configuration whose only source has `lines`.
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

/// A valid configuration whose only route has `lines`.
func withRoute(_ lines: String) -> String {
    """
    sources: { apps: { socket: /run/s } }
    destinations: { out: { file: /d/out } }
    routes:
      - to: [out]
    \(lines.split(separator: "\n", omittingEmptySubsequences: false).map { "    " + $0 }.joined(separator: "\n"))
    """
}
