#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The calls that record who the user is, and which page or screen they view. Each takes properties or traits in three
// forms: literals, values of variables, and a value of the application's own type.

extension EventSending {
    /// Sets the current user, and records their traits.
    ///
    /// ```swift
    /// analytics.identify("u_4711", traits: ["plan": "pro", "logins": count])
    /// ```
    ///
    /// - Parameters:
    ///   - userID: The permanent id of the user. Do not use an email address or a name: these change.
    ///   - traits: The known properties of the user.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func identify(
        _ userID: String, traits: [String: PropertyValue] = [:], at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .identify(userID: userID, traits: PropertyValue.dictionary(traits)),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Sets the current user, and records their traits, with values of your variables.
    @_disfavoredOverload
    public func identify(
        _ userID: String, traits: [String: (any PropertyValueConvertible)?], at date: Date? = nil,
        messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .identify(userID: userID, traits: PropertyValue.dictionary([String: PropertyValue](traits))),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Sets the current user, and records their traits, with traits of the application's own type.
    @_disfavoredOverload
    public func identify(
        _ userID: String, traits: some Encodable, at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .identify(userID: userID, traits: traits),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user viewed a page.
    ///
    /// - Parameters:
    ///   - name: The page's name.
    ///   - category: The category of the page.
    ///   - properties: The properties of the event.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func page(
        _ name: String, category: String? = nil, _ properties: [String: PropertyValue] = [:], at date: Date? = nil,
        messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .page(name: name, category: category, properties: PropertyValue.dictionary(properties)),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user viewed a page, with values of your variables.
    @_disfavoredOverload
    public func page(
        _ name: String, category: String? = nil, _ properties: [String: (any PropertyValueConvertible)?],
        at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .page(
                name: name, category: category,
                properties: PropertyValue.dictionary([String: PropertyValue](properties))),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user viewed a page, with properties of the application's own type.
    @_disfavoredOverload
    public func page(
        _ name: String, category: String? = nil, _ properties: some Encodable, at date: Date? = nil,
        messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .page(name: name, category: category, properties: properties),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user viewed a screen.
    ///
    /// - Parameters:
    ///   - name: The screen's name.
    ///   - category: The category of the screen.
    ///   - properties: The properties of the event.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func screen(
        _ name: String, category: String? = nil, _ properties: [String: PropertyValue] = [:], at date: Date? = nil,
        messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .screen(name: name, category: category, properties: PropertyValue.dictionary(properties)),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user viewed a screen, with values of your variables.
    @_disfavoredOverload
    public func screen(
        _ name: String, category: String? = nil, _ properties: [String: (any PropertyValueConvertible)?],
        at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .screen(
                name: name, category: category,
                properties: PropertyValue.dictionary([String: PropertyValue](properties))),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user viewed a screen, with properties of the application's own type.
    @_disfavoredOverload
    public func screen(
        _ name: String, category: String? = nil, _ properties: some Encodable, at date: Date? = nil,
        messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .screen(name: name, category: category, properties: properties),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user belongs to a group, such as a company or a team.
    ///
    /// - Parameters:
    ///   - groupID: The group's id.
    ///   - traits: The known properties of the group.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func group(
        _ groupID: String, traits: [String: PropertyValue] = [:], at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .group(groupID: groupID, traits: PropertyValue.dictionary(traits)),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user belongs to a group, with values of your variables.
    @_disfavoredOverload
    public func group(
        _ groupID: String, traits: [String: (any PropertyValueConvertible)?], at date: Date? = nil,
        messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .group(groupID: groupID, traits: PropertyValue.dictionary([String: PropertyValue](traits))),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Records that the user belongs to a group, with traits of the application's own type.
    @_disfavoredOverload
    public func group(
        _ groupID: String, traits: some Encodable, at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .group(groupID: groupID, traits: traits),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }

    /// Changes the user's id, and records that the two ids are the same user.
    ///
    /// - Parameters:
    ///   - userID: The new id.
    ///   - previousID: The id that the user had before. By default it is the current user id, or else the anonymous id.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func alias(
        _ userID: String, previousID: String? = nil, at date: Date? = nil, messageID: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        send(
            .alias(userID: userID, previousID: previousID),
            EventDetails(at: date, messageID: messageID, fileID: fileID, line: line))
    }
}
