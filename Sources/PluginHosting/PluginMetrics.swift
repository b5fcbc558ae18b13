/// A plugin's counters and gauges.
package struct PluginMetrics: Sendable, Equatable {
    /// The most counters, and the most gauges.
    package static let limit = 64
    /// The longest name, in bytes.
    package static let nameLimit = 64

    package private(set) var counters: [String: UInt64] = [:]
    package private(set) var gauges: [String: Double] = [:]

    package init() {}

    /// Adds to a counter. A counter stays at its largest value instead of overflowing.
    /// - Returns: false if it was rejected.
    package mutating func add(_ amount: UInt64, to name: String) -> Bool {
        guard counters[name] != nil || counters.count < Self.limit && Self.isName(name) else { return false }
        let (sum, overflow) = (counters[name] ?? 0).addingReportingOverflow(amount)
        counters[name] = overflow ? .max : sum
        return true
    }

    /// - Returns: false if it was rejected.
    package mutating func set(_ name: String, to value: Double) -> Bool {
        guard value.isFinite, gauges[name] != nil || gauges.count < Self.limit && Self.isName(name) else {
            return false
        }
        gauges[name] = value
        return true
    }

    private static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= nameLimit
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
