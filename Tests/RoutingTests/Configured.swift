import Configuration
import Routing
import Testing

// Transforms as an operator writes them.

/// What a `transforms:` list in YAML comes to.
func transforms(_ yaml: String) throws -> [Transform] {
    let result = load(yaml)
    let problems = result.errors.map(\.description).joined(separator: "\n")
    return try #require(result.configuration, "\(problems)").routes[0].transforms
}

/// What is wrong with such a list: lines count from 8 on.
func messages(_ yaml: String) -> [String] {
    load(yaml).errors.map { "\($0.place.line):\($0.place.column) \($0.message)" }
}

private func load(_ yaml: String) -> LoadResult {
    let lines = yaml.split(separator: "\n", omittingEmptySubsequences: false)
    let text = """
        sources: { apps: { socket: /run/s } }
        destinations: { out: { file: /d/out } }
        secrets: { directory: /nowhere }
        journal: { directory: /d/journal }
        routes:
          - to: [out]
            transforms:
        \(lines.map { "      " + $0 }.joined(separator: "\n"))
        """
    return ConfigurationLoader(credentialsDirectory: nil).load(text: text, named: "/etc/penstock/p.yaml")
}
