/// The answer to `GET /routing`: the running configuration as a graph, from the sources to the destinations. Secrets
/// are shown by name.
package struct RoutingReport: Codable, Sendable, Equatable {
    package struct Source: Codable, Sendable, Equatable {
        package var name: String
        /// The plugin's name; nil: applications connect to it.
        package var plugin: String?

        package init(name: String, plugin: String?) {
            self.name = name
            self.plugin = plugin
        }
    }

    package struct Route: Codable, Sendable, Equatable {
        package var name: String
        /// Its filter as written; nil: it takes every event.
        package var condition: String?
        /// Each as JSON.
        package var transforms: [String]
        package var to: [String]

        package init(name: String, condition: String?, transforms: [String], to: [String]) {
            self.name = name
            self.condition = condition
            self.transforms = transforms
            self.to = to
        }

        enum CodingKeys: String, CodingKey {
            case name, transforms, to
            case condition = "where"
        }
    }

    package struct Destination: Codable, Sendable, Equatable {
        /// `file`, `http` or `plugin`.
        package var kind: String
        /// The preset that it uses.
        package var preset: String?
        /// The file's path, the URL or the plugin's name.
        package var target: String
        package var condition: String?
        package var transforms: [String]

        package init(kind: String, preset: String?, target: String, condition: String?, transforms: [String]) {
            self.kind = kind
            self.preset = preset
            self.target = target
            self.condition = condition
            self.transforms = transforms
        }

        enum CodingKeys: String, CodingKey {
            case kind, preset, target, transforms
            case condition = "where"
        }
    }

    package var sources: [Source]
    /// The transforms before routing, each as JSON.
    package var pipeline: [String]
    /// In the order in which they are tried.
    package var routes: [Route]
    package var destinations: [String: Destination]

    package init(
        sources: [Source] = [], pipeline: [String] = [], routes: [Route] = [],
        destinations: [String: Destination] = [:]
    ) {
        self.sources = sources
        self.pipeline = pipeline
        self.routes = routes
        self.destinations = destinations
    }
}
