import DaemonConfiguration
import Events
import Routing

/// Mappings and scripts.
enum MappingMeasurements {
    static var all: [Measurement] {
        [
            measure(
                "a mapping for Mixpanel's track", limit: 2000,
                destination: """
                    mapping:
                      event: $.event
                      properties:
                        $merge:
                          - $.properties
                          - token: !secret mixpanel
                            distinct_id: { $if: { exists: $.userId, then: $.userId, else: $.anonymousId } }
                            time: { $date: { value: $.timestamp, format: epoch_seconds } }
                            $insert_id: $.messageId
                    """),
            measure(
                "a mapping of five fields", limit: nil,
                destination: """
                    mapping: { name: $.event, at: $.timestamp, who: $.userId, os: $.context.os.name, text: "{{ event }} by {{ userId }}" }
                    """),
            measure(
                "properties as text, and that text as JSON", limit: nil,
                destination: """
                    mapping: { p: { $json: { mode: decode, value: { $json: { mode: encode, value: $.properties } } } } }
                    """),
            measure("a script that returns the event", limit: nil, destination: "transforms: [ lua: return event ]"),
            measure(
                "a script that sets a field", limit: nil,
                destination: """
                    transforms: [ lua: "event.properties.plan = 'pro' return event" ]
                    """),
        ]
    }

    private static func measure(_ name: String, limit: Int?, destination: String) -> Measurement {
        let lines = destination.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
        let text = """
            sources: { apps: { socket: /run/s } }
            routes: [ { to: [out] } ]
            destinations:
              out:
                file: /d/out
            \(lines)
            """
        let loader = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
        let result = loader.load(text: text, named: "/etc/penstock/bench.yaml")
        guard let out = result.configuration?.destinations.first else {
            fatalError(result.errors.map(\.description).joined(separator: "\n"))
        }
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: [])], transforms: out.transforms,
            mapping: out.mapping.map { MappingSetting($0.mapping, limit: out.maximumEventSize, secret: $0.secret) },
            journal: [UInt8](repeating: 1, count: 16))
        return Measurement(name: name, limit: limit, router: router)
    }
}
