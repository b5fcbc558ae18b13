import Events
import Routing

/// The members that the objects in one place had: the properties of an event, or an object inside them.
final class ObservedObject {
    final class Property {
        /// The number of objects in which it is present and not null.
        var present: UInt64 = 0
        let value: ObservedValue
        /// The last object that had it, and whether it counted there. If a name occurs twice, the last one counts.
        var lastObject: UInt64 = 0
        var wasPresent = false

        init(depth: Int) { value = ObservedValue(depth: depth) }
    }

    /// The most properties of one object. An object with more is a map from data to data.
    static let maximumProperties = 100

    private(set) var objects: UInt64 = 0
    private(set) var properties: [[UInt8]: Property] = [:]
    /// Members that are not among `properties`: their names cannot be in a plan, or there was no room.
    private(set) var omitted: UInt64 = 0
    private let depth: Int
    private var name: [UInt8] = []

    /// - Parameter depth: levels of objects and lists around it.
    init(depth: Int) { self.depth = depth }

    /// Observes an object. A value of another type counts as an object without members.
    func observe(_ value: FieldValue, _ json: Span<UInt8>, _ context: inout ObservationContext) {
        objects += 1
        context.object += 1
        let number = context.object
        guard value.type == .object, let range = value.json else { return }
        var cursor = ObjectCursor(range)
        while let member = cursor.next(in: json) {
            if member.isKeyEscaped {
                name = member.name(in: json)
            } else {
                name.removeAll(keepingCapacity: true)
                name.append(contentsOf: json.extracting(member.key.range))
            }
            guard let property = property(&context) else {
                omitted += 1
                continue
            }
            let isPresent = member.value.type != .null
            if property.lastObject == number, property.wasPresent { property.present -= 1 }
            if isPresent { property.present += 1 }
            property.lastObject = number
            property.wasPresent = isPresent
            if isPresent { property.value.observe(member.value, json, &context) }
        }
    }

    /// The property of the current name; nil: it is left out.
    private func property(_ context: inout ObservationContext) -> Property? {
        if let known = properties[name] { return known }
        guard properties.count < Self.maximumProperties, context.mayName(name), context.takeRoom(for: name) else {
            return nil
        }
        let property = Property(depth: depth + 1)
        properties[name] = property
        return property
    }

    /// In the order of names.
    var sorted: [(name: [UInt8], property: Property)] {
        properties.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
    }
}
