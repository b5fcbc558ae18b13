import DaemonConfiguration
import Events
import Routing
import TrackingPlan

enum PlanMeasurements {
    static var all: [Measurement] {
        [
            measure("plan, 6 events of 8 properties, as planned", .refuse, ""),
            measure("plan, one property wrong, flagged", .flag, "price: { type: number, maximum: -1 }"),
            measure("plan, one property wrong, stripped", .strip, "price: { type: number, maximum: -1 }"),
        ]
    }

    private static func measure(_ name: String, _ mode: PlanEnforcer.OnViolation, _ price: String) -> Measurement {
        let properties = """
            properties: { sku: { type: string, required: true, pattern: "^SKU-[0-9]{6}$" }, quantity: { type: integer, minimum: 1 },
              category: { type: string, enum: [Home & Garden, Toys] }, first_time: boolean, coupon: string, path: string, cart_id: string,
              \(price.isEmpty ? "price: { type: number, minimum: 0 }" : price) }
            """
        let events = ["Page Loaded", "Product Viewed", "Product Added", "Cart Viewed", "Order Completed", "Signed In"]
        let plan = "events:\n" + events.map { "  \($0):\n    \(properties)\n" }.joined()
        let diagnostics = Diagnostics()
        guard
            let rules = TrackingPlan.read(ConfigurationFile(path: "plan.yaml", text: plan), diagnostics)?.rules(
                diagnostics)
        else {
            fatalError(diagnostics.list.map(\.description).joined(separator: "\n"))
        }
        let enforcer = PlanEnforcer(rules, onViolation: mode, limit: 20, maximumEventSize: 32 << 10, maximumDepth: 64)
        let batch = SampleEvents.batch
        var violations = 0
        return Measurement(name: name) {
            for event in batch.events where enforcer.judge(batch.json(of: event), event.index) != .pass {
                violations += 1
            }
            precondition((violations == 0) == price.isEmpty, "either all sample events match the plan or none does")
        }
    }
}
