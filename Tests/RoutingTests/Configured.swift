import DaemonConfiguration
import Routing
import Testing

// Transforms made from the YAML that an operator writes.

/// The transforms of a `transforms:` list in YAML.
func transforms(_ yaml: String) throws -> [Transform] { try configuration(yaml).routes[0].transforms }

/// A configuration with one route that has the list.
func configuration(_ yaml: String, secrets: String = "/nowhere") throws -> Configuration {
    let result = load(yaml, secrets: secrets)
    let problems = result.errors.map(\.description).joined(separator: "\n")
    return try #require(result.configuration, "\(problems)")
}

/// The errors in such a list. Its first line is line 8.
func messages(_ yaml: String) -> [String] {
    load(yaml).errors.map { "\($0.place.line):\($0.place.column) \($0.message)" }
}

private func load(_ yaml: String, secrets: String = "/nowhere") -> LoadResult {
    let lines = yaml.split(separator: "\n", omittingEmptySubsequences: false)
    let text = """
        sources: { apps: { socket: /run/s } }
        destinations: { out: { file: /d/out } }
        secrets: { directory: \(secrets) }
        journal: { directory: /d/journal }
        routes:
          - to: [out]
            transforms:
        \(lines.map { "      " + $0 }.joined(separator: "\n"))
        """
    return ConfigurationLoader(credentialsDirectory: nil).load(text: text, named: "/etc/penstock/p.yaml")
}
