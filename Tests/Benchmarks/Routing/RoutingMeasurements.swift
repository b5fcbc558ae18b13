import DaemonConfiguration
import Events
import Routing

enum RoutingMeasurements {
    static var all: [Measurement] {
        [
            measure("no filter, no transform", limit: nil, routes: "[ { to: [out] } ]"),
            measure(
                "type and event, half of them taken", limit: 50,
                routes:
                    #"[ { to: [out], where: 'type = "track" and event in ["Page Loaded", "Product Added", "Order Completed"]' } ]"#
            ),
            measure(
                "type and event, none taken", limit: 50,
                routes: #"[ { to: [out], where: 'type = "track" and event = "Signed Out"' } ]"#),
            measure(
                "three deep paths", limit: 400,
                routes: #"""
                    [ { to: [out], where: 'context.os.name = "Linux" and properties.quantity >= 3 and context.library.version = "1.0"' } ]
                    """#),
            measure(
                "rename, drop, hash and name_case", limit: 1500,
                routes: """
                    [ { to: [out], transforms: [ rename: { properties.price: amount }, drop: [context.userAgent],
                        hash: { paths: [userId], key: !secret pii }, name_case: title ] } ]
                    """),
            measure("one of 100 routes, by event", limit: 5000, routes: hundred { #"event = "Event \#($0)""# }),
            measure(
                "one of 100 routes, by a deep path", limit: 5000,
                routes: hundred { #"properties.category = "Category \#($0)""# }),
            measure("set, constant", limit: nil, routes: "[ { to: [out], transforms: [ set: { routed: w1 } ] } ]"),
            measure("redact", limit: nil, routes: "[ { to: [out], transforms: [ redact: {} ] } ]"),
            measure("flatten", limit: nil, routes: "[ { to: [out], transforms: [ flatten: {} ] } ]"),
            measure("dedupe by messageId", limit: nil, routes: "[ { to: [out], transforms: [ dedupe: {} ] } ]"),
        ]
    }

    /// 99 routes that match no event, followed by one that matches all.
    private static func hundred(_ filter: (Int) -> String) -> String {
        let routes =
            (1..<100).map { "{ to: [out], where: '\(filter($0))' }" } + ["{ to: [out], where: 'type = \"track\"' }"]
        return "[ \(routes.joined(separator: ", ")) ]"
    }

    private static func measure(_ name: String, limit: Int?, routes: String) -> Measurement {
        let text = """
            sources: { apps: { socket: /run/s } }
            destinations: { out: { file: /d/out } }
            routes: \(routes)
            """
        let loader = ConfigurationLoader(credentialsDirectory: nil, missingSecretsAreWarnings: true)
        let result = loader.load(text: text, named: "/etc/penstock/bench.yaml")
        guard let configuration = result.configuration else {
            fatalError(result.errors.map(\.description).joined(separator: "\n"))
        }
        let router = DestinationRouter(
            name: "out",
            routes: configuration.routes.map { .init(name: $0.name, filter: $0.filter, transforms: $0.transforms) },
            journal: [UInt8](repeating: 1, count: 16))
        return Measurement(name: name, limit: limit, router: router)
    }
}
