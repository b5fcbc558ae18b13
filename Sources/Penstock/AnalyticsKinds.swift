extension Analytics {
    /// Records what a call of `identify`, `page`, `screen`, `group` or `alias` asks for.
    public func send(_ call: AnalyticsCall, _ details: EventDetails) {
        switch call {
        case .identify(let userID, let traits): identify(userID, traits, call, details)
        case .page(let name, let category, let properties), .screen(let name, let category, let properties):
            record(call, details) { writer in
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
        case .group(let groupID, let traits):
            guard !groupID.isEmpty else { return refuse(call, "the group's id is empty", details) }
            record(call, details) { writer in
                writer.builder.text.append("\"groupId\":")
                writer.builder.text.append(string: groupID)
                writer.builder.text.append(byte: ",")
                try writer.writeTraits(traits)
            }
        case .alias(let userID, let previousID): alias(userID, previousID, call, details)
        }
    }

    private func identify(
        _ userID: String, _ traits: any Encodable, _ call: AnalyticsCall, _ details: EventDetails
    ) {
        guard !userID.isEmpty else { return refuse(call, "the user's id is empty", details) }
        scope.change { $0.userID = userID }
        record(call, details) { writer in try writer.writeTraits(traits) }
    }

    private func alias(
        _ userID: String, _ previousID: String?, _ call: AnalyticsCall, _ details: EventDetails
    ) {
        guard !userID.isEmpty else { return refuse(call, "the user's id is empty", details) }
        let before = scope.change { scope in
            defer { scope.userID = userID }
            return scope.userID ?? scope.anonymousID
        }
        guard let previousID = Self.nonEmpty(previousID) ?? before else {
            return refuse(call, "the user had no id before; pass previousID", details)
        }
        record(call, details) { writer in
            writer.builder.text.append("\"previousId\":")
            writer.builder.text.append(string: previousID)
        }
    }

    private func record(_ call: AnalyticsCall, _ details: EventDetails, _ members: (JSONWriter) throws -> Void) {
        record(call.kind, .analytics, details, name: { call.title }, members)
    }

    private func refuse(_ call: AnalyticsCall, _ reason: String, _ details: EventDetails) {
        pipeline.fail(.invalid, event: call.title, details, "was not recorded: \(reason)")
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
