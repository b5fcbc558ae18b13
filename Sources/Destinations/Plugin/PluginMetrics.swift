/// The counters and gauges that a plugin keeps with its host.
package struct PluginMetrics: Sendable, Equatable {
    /// Of each sort.
    static let limit = 64
    /// Bytes.
    static let nameLimit = 64

    package private(set) var counters: [String: UInt64] = [:]
    package private(set) var gauges: [String: Double] = [:]

    /// Stays at its largest value rather than begin again.
    /// - Returns: false if it was not taken.
    mutating func add(_ amount: UInt64, to name: String) -> Bool {
        guard counters[name] != nil || counters.count < Self.limit && Self.isName(name) else { return false }
        let (sum, overflow) = (counters[name] ?? 0).addingReportingOverflow(amount)
        counters[name] = overflow ? .max : sum
        return true
    }

    /// - Returns: false if it was not taken.
    mutating func set(_ name: String, to value: Double) -> Bool {
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
