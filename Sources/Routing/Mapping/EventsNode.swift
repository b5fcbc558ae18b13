/// The place of the events in a text that goes around them. Whoever has the events puts them there.
package struct EventsNode: MappingNode {
    /// As it is written in a mapping.
    package static let name = "$events"
    /// What is written in the events' place. No JSON text holds this byte, so that no event can forge it.
    package static let mark: UInt8 = 1

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        output.append(Self.mark)
        return true
    }

    /// A directive may read what it is given, which the mark would not survive.
    static func isReachable(in node: any MappingNode) -> Bool {
        switch node {
        case is EventsNode: true
        case let object as ObjectNode: object.members.contains { isReachable(in: $0.value) }
        case let list as ListNode: list.items.contains(where: isReachable)
        default: false
        }
    }
}
