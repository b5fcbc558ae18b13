/// Placeholder for the events in a mapping that wraps them. The caller replaces it with the events.
package struct EventsNode: MappingNode {
    /// Its spelling in a mapping.
    package static let name = "$events"
    /// The byte written as placeholder. JSON cannot contain this byte, so no event can forge it.
    package static let mark: UInt8 = 1

    func write(_ scope: borrowing MappingScope, to output: inout [UInt8]) -> Bool {
        output.append(Self.mark)
        return true
    }

    /// Whether the placeholder is in the output. A directive may inspect its arguments, and the mark would not survive
    /// that, so only plain objects and lists are searched.
    static func isReachable(in node: any MappingNode) -> Bool {
        switch node {
        case is EventsNode: true
        case let object as ObjectNode: object.members.contains { isReachable(in: $0.value) }
        case let list as ListNode: list.items.contains(where: isReachable)
        default: false
        }
    }
}
