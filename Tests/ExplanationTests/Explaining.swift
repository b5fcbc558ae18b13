import Platform
import DaemonConfiguration
import Explanation
import Testing

/// A valid configuration whose secrets are replaced by their names.
func configuration(_ yaml: String, secrets: [String: String] = [:]) throws -> Configuration {
    let loaded = ConfigurationLoader.withStandIns(secrets, pluginDirectories: []).load(
        text: yaml, named: "/etc/penstock/p.yaml")
    let problems = loaded.errors.map(\.description).joined(separator: "\n")
    return try #require(loaded.configuration, "\(problems)")
}

/// 2026-01-31T08:00:00Z.
let morning: Int64 = 1_769_846_400 * 1_000_000_000

/// The explanation of one event, without colours.
func explanationText(_ event: String, _ configuration: Configuration, only: [String] = []) -> String {
    let explainer = EventExplainer(configuration, only: only)
    return ExplanationText(ANSIStyle(isOn: false)).render(
        explainer.explain(Array(event.utf8), position: 7, receivedAt: morning))
}

/// A generator that produces the same numbers in every run.
struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let mixed = (state ^ state >> 31) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed >> 29
    }
}
