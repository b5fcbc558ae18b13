extension RecordedEvent {
    /// A top-level member of the event.
    subscript(name: String) -> PropertyValue? {
        get { value(of: Self.key(name), ofObjectAt: 0) }
        set { set(Self.key(name), to: newValue.map(Self.json), ofObjectAt: 0) }
    }

    /// A member of one of the event's objects. Setting it creates the object if it does not exist.
    subscript(object: String, name: String) -> PropertyValue? {
        get {
            JSONReader.member(Self.key(object), of: 0, in: json).flatMap {
                value(of: Self.key(name), ofObjectAt: $0.value.lowerBound)
            }
        }
        set {
            if let found = JSONReader.member(Self.key(object), of: 0, in: json) {
                set(Self.key(name), to: newValue.map(Self.json), ofObjectAt: found.value.lowerBound)
            } else if let newValue {
                self[object] = .dictionary([name: newValue])
            }
        }
    }

    /// Sets or removes an id. Does nothing if the event would be left without any id.
    mutating func setID(_ name: String, _ id: String?, other: String) {
        if id?.isEmpty ?? true, self[other] == nil { return }
        self[name] = id.flatMap { $0.isEmpty ? nil : .string($0) }
    }

    private func value(of key: [UInt8], ofObjectAt object: Int) -> PropertyValue? {
        guard let found = JSONReader.member(key, of: object, in: json) else { return nil }
        var reader = JSONReader(json, at: found.value.lowerBound)
        return reader.value()
    }

    private mutating func set(_ key: [UInt8], to value: [UInt8]?, ofObjectAt object: Int) {
        if let (member, old) = JSONReader.member(key, of: object, in: json) {
            if let value { return json.replaceSubrange(old, with: value) }
            // Remove one comma with the member: the following one, or else the preceding one.
            if json[member.upperBound] == UInt8(ascii: ",") {
                json.removeSubrange(member.lowerBound...member.upperBound)
            } else if json[member.lowerBound - 1] == UInt8(ascii: ",") {
                json.removeSubrange(member.lowerBound - 1..<member.upperBound)
            } else {
                json.removeSubrange(member)
            }
            return
        }
        var reader = JSONReader(json, at: object)
        guard let value, reader.skipValue() else { return }
        let isEmpty = reader.position - object == 2
        json.insert(
            contentsOf: (isEmpty ? [] : [UInt8(ascii: ",")]) + key + [UInt8(ascii: ":")] + value,
            at: reader.position - 1)
    }

    private static func key(_ name: String) -> [UInt8] {
        var text = JSONText()
        text.append(string: name)
        return text.bytes
    }

    private static func json(_ value: PropertyValue) -> [UInt8] {
        var text = JSONText()
        _ = value.write(to: &text, depth: JSONBuilder.maximumDepth)
        return text.bytes
    }
}
