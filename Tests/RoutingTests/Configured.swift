import Configuration
import Routing
import Testing

// Transforms as an operator writes them.

/// What a `transforms:` list in YAML comes to.
func transforms(_ yaml: String) throws -> [Transform] { try configuration(yaml).routes[0].transforms }

/// A configuration whose one route has the list.
func configuration(_ yaml: String, secrets: String = "/nowhere") throws -> Configuration {
    let result = load(yaml, secrets: secrets)
    let problems = result.errors.map(\.description).joined(separator: "\n")
    return try #require(result.configuration, "\(problems)")
}

/// What is wrong with such a list: lines count from 8 on.
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
