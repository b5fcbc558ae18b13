extension Analytics {
    /// Sets the current user, and records their traits.
    ///
    /// ```swift
    /// analytics.identify("u_4711", traits: ["plan": "pro", "logins": 12])
    /// ```
    ///
    /// - Parameters:
    ///   - userID: The permanent id of the user. Do not use an email address or a name: these change.
    ///   - traits: The known properties of the user.
    public func identify(_ userID: String, traits: [String: PropertyValue] = [:]) {
        identify(userID, describing: PropertyValue.object(traits))
    }

    /// Sets the current user, with traits of the application's own type. See ``identify(_:traits:)``.
    public func identify(_ userID: String, traits: some Encodable) { identify(userID, describing: traits) }

    private func identify(_ userID: String, describing traits: some Encodable) {
        guard let userID = Self.nonEmpty(userID) else { return refuseEmpty("identify", "the user's id") }
        scope.change { $0.userID = userID }
        record(.identify, what: { "identify" }) { writer in try writer.writeTraits(traits) }
    }

    /// Records that the user viewed a page.
    ///
    /// - Parameters:
    ///   - name: The page's name.
    ///   - category: The category of the page.
    ///   - properties: The properties of the event.
    public func page(_ name: String, category: String? = nil, _ properties: [String: PropertyValue] = [:]) {
        view(.page, name, category, PropertyValue.object(properties))
    }

    /// Records that the user viewed a page, with properties of the application's own type. See ``page(_:category:_:)``.
    public func page(_ name: String, category: String? = nil, _ properties: some Encodable) {
        view(.page, name, category, properties)
    }

    /// Records that the user viewed a screen.
    ///
    /// - Parameters:
    ///   - name: The screen's name.
    ///   - category: The category of the screen.
    ///   - properties: The properties of the event.
    public func screen(_ name: String, category: String? = nil, _ properties: [String: PropertyValue] = [:]) {
        view(.screen, name, category, PropertyValue.object(properties))
    }

    /// Records that the user viewed a screen, with properties of the application's own type. See
    /// ``screen(_:category:_:)``.
    public func screen(_ name: String, category: String? = nil, _ properties: some Encodable) {
        view(.screen, name, category, properties)
    }

    private func view(_ kind: RecordedEvent.Kind, _ name: String, _ category: String?, _ properties: some Encodable) {
        record(kind, what: { "\(kind.rawValue) \"\(name)\"" }) { writer in
            writer.builder.text.append("\"name\":")
            writer.builder.text.append(string: name)
            writer.builder.text.append(byte: ",")
            if let category {
                writer.builder.text.append("\"category\":")
                writer.builder.text.append(string: category)
                writer.builder.text.append(byte: ",")
            }
            try writer.writeProperties(properties)
        }
    }

    /// Records that the user belongs to a group, such as a company or a team.
    ///
    /// - Parameters:
    ///   - groupID: The group's id.
    ///   - traits: The known properties of the group.
    public func group(_ groupID: String, traits: [String: PropertyValue] = [:]) {
        group(groupID, describing: PropertyValue.object(traits))
    }

    /// Records that the user belongs to a group, with traits of the application's own type. See ``group(_:traits:)``.
    public func group(_ groupID: String, traits: some Encodable) { group(groupID, describing: traits) }

    private func group(_ groupID: String, describing traits: some Encodable) {
        guard let groupID = Self.nonEmpty(groupID) else { return refuseEmpty("group", "the group's id") }
        record(.group, what: { "group" }) { writer in
            writer.builder.text.append("\"groupId\":")
            writer.builder.text.append(string: groupID)
            writer.builder.text.append(byte: ",")
            try writer.writeTraits(traits)
        }
    }

    /// Changes the user's id, and records that the two ids are the same user.
    ///
    /// - Parameters:
    ///   - userID: The new id.
    ///   - previousID: The id that the user had before. By default it is the current user id, or else the anonymous id.
    public func alias(_ userID: String, previousID: String? = nil) {
        guard let userID = Self.nonEmpty(userID) else { return refuseEmpty("alias", "the user's id") }
        let before = scope.change { scope in
            defer { scope.userID = userID }
            return scope.userID ?? scope.anonymousID
        }
        let previousID = Self.nonEmpty(previousID) ?? before
        record(.alias, what: { "alias" }) { writer in
            writer.builder.text.append("\"previousId\":")
            writer.builder.text.append(string: previousID)
        }
    }

    private func refuseEmpty(_ kind: String, _ what: String) {
        pipeline.fail(.invalid, "\(kind) was not recorded: \(what) is empty")
    }
}

extension JSONWriter {
    fileprivate func writeTraits(_ value: some Encodable) throws {
        builder.text.append("\"traits\":")
        try writeObject(value)
    }

    fileprivate func writeProperties(_ value: some Encodable) throws {
        builder.text.append("\"properties\":")
        propertiesStart = builder.text.bytes.count
        try writeObject(value)
    }

    private func writeObject(_ value: some Encodable) throws {
        let start = builder.text.bytes.count
        try write(value)
        guard builder.text.bytes[start] == UInt8(ascii: "{") else { throw JSONWriterError.noProperties }
    }
}
