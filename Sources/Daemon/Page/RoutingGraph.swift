import DaemonConfiguration
import Control

extension RoutingReport {
    init(_ configuration: Configuration) {
        self.init(
            sources: configuration.sources.map { .init(name: $0.name, plugin: $0.plugin?.plugin) },
            pipeline: configuration.pipeline.map(\.text),
            routes: configuration.routes.map {
                .init(
                    name: $0.name, condition: $0.rules.shownCondition, transforms: $0.rules.steps.map(\.text), to: $0.to
                )
            },
            destinations: Dictionary(
                configuration.destinations.map { ($0.name, .init($0)) }, uniquingKeysWith: { first, _ in first }))
    }
}

extension RoutingReport.Destination {
    fileprivate init(_ destination: Configuration.Destination) {
        let (kind, target) =
            switch destination.kind {
            case .file(let file): ("file", file.path.text)
            case .http(let http): ("http", http.urlText.description)
            case .plugin(let plugin): ("plugin", plugin.plugin)
            }
        self.init(
            kind: kind, preset: destination.preset?.name, target: target, condition: destination.rules.shownCondition,
            transforms: destination.rules.steps.map(\.text))
    }
}

extension Rules {
    /// nil: it always holds.
    fileprivate var shownCondition: String? { condition.text == "true" ? nil : condition.text }
}
