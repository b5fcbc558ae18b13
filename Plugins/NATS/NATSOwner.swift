import Glibc
import PenstockPluginKit

/// The owner of leases: one instance of a source.
struct NATSOwner: Sendable {
    /// What a lease has as its value: readable in the bucket, and unique to the instance.
    let text: String
    /// The beginning of the values of all instances that read for this source into this journal. nil: the journal has
    /// no id.
    private let family: String?
    /// The same for all of these instances.
    var member: String { family ?? text }

    init(_ host: SourceHost) {
        var name = [CChar](repeating: 0, count: 256)
        unsafe gethostname(&name, name.count - 1)
        let machine = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let family = "\(host.journal) \(host.name) on "
        self.family = host.journal.isEmpty ? nil : family
        text = "\(family)\(machine), process \(getpid()), \(String(UInt64.random(in: .min ... .max), radix: 16))"
    }

    /// Whether a lease with this value may be taken: it is free, or its owner has ended. A journal has one daemon: it
    /// ends an instance before it starts the next one.
    func mayTake(_ holder: String) -> Bool {
        holder.isEmpty || holder == text || family.map { holder.hasPrefix($0) } ?? false
    }
}
