import Control
import Foundation
import Penstock
import Synchronization
import Testing

/// A plan on both sides: the code that the plugin generated from `Plans/shop.plan.yaml` for these tests, and a daemon
/// that checks events against the plan.
@Suite struct TrackingPlanTests {
    private static let planFile = Repository.root + "/Tests/EndToEndTests/Plans/shop.plan.yaml"

    private func plan() throws -> String { try String(contentsOfFile: Self.planFile, encoding: .utf8) }

    /// A daemon with the plan beside its configuration, and one destination that gets all events.
    private func daemon(_ key: String = "plan: plan.yaml", plan: String) throws -> TestDaemon {
        let daemon = try TestDaemon(configuration: configuration(key))
        try write(plan, daemon)
        try daemon.start()
        return daemon
    }

    private func configuration(_ key: String) -> String {
        """
        \(key)
        routes: [ { to: [out] } ]
        destinations: { out: { file: out.ndjson } }
        """
    }

    private func write(_ plan: String, _ daemon: TestDaemon) throws {
        try plan.write(toFile: daemon.path("plan.yaml"), atomically: true, encoding: .utf8)
    }

    /// Keeps the lines that a provider would send.
    private final class Lines: AnalyticsProvider {
        private let lines = Mutex<[String]>([])

        func record(_ event: RecordedEvent) { lines.withLock { $0.append(event.description) } }

        var all: [String] { lines.withLock { $0 } }
    }

    /// One event of each kind in the plan.
    private func generatedEvents() -> [String] {
        let lines = Lines()
        let analytics = Analytics(providers: [lines], userID: "ada")
        let checkout = Shop.CheckoutRegistry(analytics)
        checkout.orderCompleted(
            orderID: "o-1", total: 19.9, currency: .eur, paidAt: Date(timeIntervalSince1970: 1_800_000_000),
            products: [.init(sku: "A", quantity: 2)], note: ["gift": true, "lines": [1, "two"]])
        checkout.orderCompleted(orderID: "o-2", total: 0)
        checkout.cartEmptied()
        let others = Shop.EventRegistry(analytics)
        others.pageScrolled(depth: 80, additionalProperties: ["depth": "left out", "direction": "down"])
        for word in Shop.Class.Default.allCases {
            Shop.OddNamesRegistry(analytics).class(
                default: word, _2nd: false, selfValue: 1, `inout`: true, in: "", eventNameValue: "n", type: .type,
                größe: 1.5)
        }
        others.string(string: "s", int: [1, 2])
        analytics.screen(Shop.BasketScreen(items: 3))
        analytics.screen(Shop.UnnamedScreen())
        analytics.identify("ada", traits: Shop.UserTraits(plan: .pro, additionalProperties: ["logins": 12]))
        analytics.group("g", traits: Shop.GroupTraits(name: "The Analytical Society"))
        return lines.all
    }

    @Test func `the plan accepts what the generated code sends`() throws {
        let daemon = try daemon(plan: try plan())
        let sent = generatedEvents()
        let result = try daemon.penstock("send", "--acks", input: sent.joined(separator: "\n"))
        #expect(result.status == 0, "\(result.errors)")
        try daemon.settle(accepted: UInt64(sent.count))
        #expect(try daemon.status().sources["apps"]?.violationsByReason == [:])
        // Not a byte was changed.
        #expect(daemon.lines("out.ndjson") == sent)
        let properties =
            #""properties":{"order_id":"o-1","total":19.9,"currency":"EUR","paid_at":"2027-01-15T08:00:00.000Z","products":[{"sku":"A","quantity":2}]"#
        #expect(sent.first?.contains(properties) == true, "\(sent)")
        #expect(sent.contains { $0.contains(#""properties":{"direction":"down","depth":80}"#) })
    }

    @Test func `a property that is removed from the plan fails in the compiler, then in the daemon`() throws {
        let old = try plan()
        let new = old.replacingOccurrences(of: "      currency: { type: string, enum: [EUR, USD] }\n", with: "")
        #expect(new != old)
        let daemon = try daemon(plan: old)
        let application = """
            import Penstock
            func pay(_ events: any EventSending) {
                Shop.CheckoutRegistry(events).orderCompleted(orderID: "o-1", total: 1, currency: .eur)
            }
            """
        #expect(try compile(application, with: old, daemon) == "")
        #expect(try compile(application, with: new, daemon).contains("error: extra argument 'currency' in call"))

        let client = try EventClient(daemon)
        let line = try #require(generatedEvents().first) + "\n"
        try client.send(line)
        #expect(try client.acknowledgement(of: 1).refusals == [])
        try write(new, daemon)
        #expect(try daemon.reload().applied)
        // The client uses the same connection.
        try client.send(line)
        let refusal = try #require(try client.acknowledgement(of: 2).refusals.first)
        #expect(refusal.contains(#""reason":"schema_violation""#))
        #expect(refusal.contains("properties.currency: expected a name that the plan has, found string"))
        let status = try daemon.status()
        #expect(status.sources["apps"]?.refusedByReason == ["schema_violation": 1])
        #expect(status.recentRefusals.last?.detail.contains("properties.currency") == true)
    }

    /// - Returns: the compiler's messages for the application with code that was generated from the plan.
    private func compile(_ application: String, with plan: String, _ daemon: TestDaemon) throws -> String {
        let (file, code, main) = (
            daemon.path("typed.plan.yaml"), daemon.path("Plan.swift"), daemon.path("Application.swift")
        )
        try plan.write(toFile: file, atomically: true, encoding: .utf8)
        try application.write(toFile: main, atomically: true, encoding: .utf8)
        let generated = try Program.penstock(["plan", "generate", "--language", "swift", "--output", code, file])
        #expect(generated.status == 0, "\(generated.errors)")
        let compiled = try Program.run(
            "swiftc",
            [
                "-typecheck", "-swift-version", "6", "-warnings-as-errors", "-I", TestDaemon.binaries + "/Modules",
                code, main,
            ])
        #expect((compiled.status == 0) == compiled.errors.isEmpty)
        return compiled.errors
    }

    @Test func `every event is kept by default, with its violations`() throws {
        let daemon = try daemon(plan: "events: { A: { properties: { n: integer } } }")
        let lines = [
            #"{"type":"track","event":"A","userId":"u","messageId":"1","properties":{"n":1}}"#,
            #"{"type":"track","event":"A","userId":"u","messageId":"2","properties":{"n":"1","m":2}}"#,
            #"{"type":"track","event":"B","userId":"u","messageId":"3"}"#,
        ]
        #expect(try daemon.penstock("send", "--acks", input: lines.joined(separator: "\n")).status == 0)
        try daemon.settle(accepted: 3)
        let stored = daemon.lines("out.ndjson")
        #expect(stored.first == lines[0])
        #expect(
            stored.dropFirst().map { $0.contains(#""context":{"violations":[{"property":"#) } == [true, true])
        #expect(stored.last?.contains(#"[{"property":"event","expected":"a name that the plan has"}]"#) == true)
        let status = try daemon.penstock("status").output
        #expect(status.contains("apps accepted events that violate the tracking plan: schema_violation 1, unplanned 1"))
        // The journal holds the same events as the destinations.
        let dumped = try daemon.penstock("journal", "dump").output
        for line in stored { #expect(dumped.contains(line)) }
    }

    @Test func `a reload with an invalid plan is refused, and the current plan stays in effect`() throws {
        let daemon = try daemon("plan: { file: plan.yaml, on_violation: refuse }", plan: "events: { A: {} }")
        try write("events: { A: { properties: { n: { type: strnig } } } }", daemon)
        let report = try daemon.reload()
        #expect(!report.applied)
        #expect(
            report.errors.first?.contains("plan.yaml:1:41: error: \"type\" must be one of") == true,
            "\(report.errors)")
        #expect(try daemon.penstock("check", "--config", daemon.configurationFile).status == 1)
        let client = try EventClient(daemon)
        try client.send(event(1, name: "B") + "\n" + event(2, name: "A") + "\n")
        #expect(try client.acknowledgement(of: 2).refusals.count == 1)
        // Without a plan, every event is accepted again on the same connection.
        try daemon.write(configuration: configuration(""))
        #expect(try daemon.reload().applied)
        try client.send(event(3, name: "B") + "\n")
        #expect(try client.acknowledgement(of: 3).refusals == [])
    }

    @Test func `explain uses the plan`() throws {
        let daemon = try TestDaemon(configuration: configuration("plan: { file: plan.yaml, on_violation: refuse }"))
        try write("events: { A: {} }", daemon)
        let result = try Program.penstock(
            ["explain", "--config", daemon.configurationFile], input: event(1, name: "B"))
        #expect(result.status == 1)
        #expect(result.output.contains("unplanned"))
    }

    @Test func `plan check reports each error with its place and exits with status 1`() throws {
        #expect(try Program.penstock(["plan", "check", Self.planFile]).status == 0)
        let example = Repository.root + "/etc/penstock/examples/plans/shop.yaml"
        #expect(
            try Program.penstock(["plan", "check", example]).output.hasSuffix(
                "is valid: 4 events, 1 screen, identify, group\n"))
        let daemon = try TestDaemon(configuration: configuration(""))
        try write("events:\n  A:\n    propreties: {}\n", daemon)
        let result = try Program.penstock(["plan", "check", daemon.path("plan.yaml")])
        #expect(result.status == 1)
        #expect(
            result.errors.hasPrefix(
                """
                \(daemon.path("plan.yaml")):3:5: error: unknown key "propreties" in event "A"
                    propreties: {}
                    ^~~~~~~~~~
                hint: did you mean "properties"?
                """))
    }
}
