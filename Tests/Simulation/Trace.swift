/// A run as a hash and, if requested, as printed text. Two runs of a seed are the same if their hashes are equal.
final class Trace {
    let prints: Bool
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    /// The first violation. The run stops there.
    private(set) var violation: String?

    init(prints: Bool) { self.prints = prints }

    func mix(_ number: UInt64) {
        hash = (hash ^ number) &* 0x0000_0100_0000_01B3
        hash ^= hash >> 29
    }

    func mix(_ number: Int) { mix(UInt64(bitPattern: Int64(number))) }

    func mix(_ text: String) { for byte in text.utf8 { mix(UInt64(byte)) } }

    func note(_ kind: StaticString, _ number: Int = 0, _ text: @autoclosure () -> String = "") {
        mix(kind.utf8CodeUnitCount)
        mix(number)
        if prints { print(kind, number, text()) }
    }

    func violated(_ text: String) {
        mix(text)
        if prints { print("VIOLATION", text) }
        if violation == nil { violation = text }
    }
}
