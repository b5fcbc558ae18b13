extension Analytics {
    /// Says who uses the application from now on, and what is known about them.
    ///
    /// ```swift
    /// analytics.identify("u_4711", traits: ["plan": "pro", "logins": 12])
    /// ```
    ///
    /// - Parameter userID: the id that the user has for ever; not an address or a name, which change.
    public func identify(_ userID: String, traits: [String: PropertyValue] = [:]) {
        identify(userID, describing: PropertyValue.object(traits))
    }

    /// As ``identify(_:traits:)``, with traits of a type of the application's own.
    public func identify(_ userID: String, traits: some Encodable) { identify(userID, describing: traits) }

    private func identify(_ userID: String, describing traits: some Encodable) {
        guard let userID = Self.nonEmpty(userID) else { return refuseEmpty("identify", "the user's id") }
        scope.change { $0.userID = userID }
        record(.identify, what: { "identify" }) { writer in try writer.writeObject("traits", traits) }
    }

    /// Records that a page was seen.
    /// - Parameter category: what sort of page it is.
    public func page(_ name: String, category: String? = nil, _ properties: [String: PropertyValue] = [:]) {
        view(.page, name, category, PropertyValue.object(properties))
    }

    /// As ``page(_:category:_:)``, with properties of a type of the application's own.
    public func page(_ name: String, category: String? = nil, _ properties: some Encodable) {
        view(.page, name, category, properties)
    }

    /// Records that a screen was seen.
    /// - Parameter category: what sort of screen it is.
    public func screen(_ name: String, category: String? = nil, _ properties: [String: PropertyValue] = [:]) {
        view(.screen, name, category, PropertyValue.object(properties))
    }

    /// As ``screen(_:category:_:)``, with properties of a type of the application's own.
    public func screen(_ name: String, category: String? = nil, _ properties: some Encodable) {
        view(.screen, name, category, properties)
    }

    private func view(_ kind: RecordedEvent.Kind, _ name: String, _ category: String?, _ properties: some Encodable) {
        record(kind, what: { "\(kind.rawValue) \"\(name)\"" }) { writer in
            writer.text.append("\"name\":")
            writer.text.append(string: name)
            writer.text.append(byte: ",")
            if let category {
                writer.text.append("\"category\":")
                writer.text.append(string: category)
                writer.text.append(byte: ",")
            }
            try writer.writeObject("properties", properties)
        }
    }

    /// Says that the user belongs to a group: a company, a team.
    public func group(_ groupID: String, traits: [String: PropertyValue] = [:]) {
        group(groupID, describing: PropertyValue.object(traits))
    }

    /// As ``group(_:traits:)``, with traits of a type of the application's own.
    public func group(_ groupID: String, traits: some Encodable) { group(groupID, describing: traits) }

    private func group(_ groupID: String, describing traits: some Encodable) {
        guard let groupID = Self.nonEmpty(groupID) else { return refuseEmpty("group", "the group's id") }
        record(.group, what: { "group" }) { writer in
            writer.text.append("\"groupId\":")
            writer.text.append(string: groupID)
            writer.text.append(byte: ",")
            try writer.writeObject("traits", traits)
        }
    }

    /// Says that the user has another id from now on.
    /// - Parameter previousID: what the user was called before; the id of now, if not given.
    public func alias(_ userID: String, previousID: String? = nil) {
        guard let userID = Self.nonEmpty(userID) else { return refuseEmpty("alias", "the user's id") }
        let before = scope.change { scope in
            defer { scope.userID = userID }
            return scope.userID ?? scope.anonymousID
        }
        let previousID = Self.nonEmpty(previousID) ?? before
        record(.alias, what: { "alias" }) { writer in
            writer.text.append("\"previousId\":")
            writer.text.append(string: previousID)
        }
    }

    private func refuseEmpty(_ kind: String, _ what: String) {
        pipeline.fail(.invalid, "\(kind) was not recorded: \(what) is empty")
    }
}

extension JSONWriter {
    /// Appends a member whose value is an object, and that super properties may be added to if they are
    /// properties.
    fileprivate func writeObject(_ name: StaticString, _ value: some Encodable) throws {
        text.append("\"")
        text.append(name)
        text.append("\":")
        let start = text.bytes.count
        try write(value)
        guard text.bytes[start] == UInt8(ascii: "{") else { throw JSONWriterError.noProperties }
        if name.utf8CodeUnitCount == 10 { propertiesStart = start }
    }
}
