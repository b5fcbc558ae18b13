import Events

/// A resource as parts of the events of its log records. The parts are written once and copied into each event.
final class OTLPResource {
    /// Why none of the resource's log records can be an event.
    private(set) var problem: OTLPFault?
    /// The attributes as a JSON object, without those that become other fields; empty if there are none.
    private(set) var attributes: [UInt8] = []
    /// Members of the context, each with a comma.
    private(set) var members: [UInt8] = []

    // JSON strings; empty if there are none.
    private(set) var userID: [UInt8] = []
    private(set) var installationID: [UInt8] = []
    private(set) var deviceID: [UInt8] = []
    private(set) var sessionID: [UInt8] = []
    /// Identifies the service or the host. For events that name no user and no device.
    private(set) var serviceID: [UInt8] = []
    private(set) var clientAddress: [UInt8] = []
    private(set) var userAgent: [UInt8] = []

    /// - Parameter range: the Resource; nil if the request has none.
    /// - Throws: only if the request is malformed.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>?, maximumDepth: Int) throws(OTLPFault) {
        guard let range else { return }
        do throws(OTLPFault) {
            try read(bytes, range, maximumDepth)
        } catch {
            guard case .record = error else { throw error }
            problem = error
        }
    }

    private func read(_ bytes: Span<UInt8>, _ range: Range<Int>, _ maximumDepth: Int) throws(OTLPFault) {
        var list: [OTLPAttribute] = []
        try OTLPValueWriter.read(bytes, range, field: 1, into: &list)
        OTLPAttribute.hideRepeated(in: &list, from: 0, of: bytes)
        var named = OTLPNamedAttributes()
        named.find(in: list, from: 0, of: bytes)

        /// The first of these attributes that is text.
        func text(
            _ names: OTLPName..., moves: Bool = false
        ) throws(OTLPFault) -> [UInt8] {
            var text: [UInt8] = []
            for name in names {
                guard let index = named[name] else { continue }
                let value = try OTLPValueWriter.value(of: list[index], bytes)
                guard value.appendText(of: bytes, to: &text) else { continue }
                if moves { list[index].isHidden = true }
                break
            }
            return text
        }
        userID = try text(.userID, .endUserID, moves: true)
        installationID = try text(.installationID, moves: true)
        deviceID = try text(.deviceID, moves: true)
        sessionID = try text(.sessionID)
        serviceID = try text(.serviceInstanceID, .hostID, .hostName, .serviceName)
        userAgent = try text(.userAgent, moves: true)
        let address = named[.clientAddress]
        if let address, try OTLPAddress.isAddress(OTLPValueWriter.value(of: list[address], bytes), bytes) {
            clientAddress = try text(.clientAddress, moves: true)
        }

        appendObject(
            "app",
            [
                ("name", try text(.serviceName)), ("version", try text(.serviceVersion)),
                ("namespace", try text(.serviceNamespace)), ("build", try text(.appBuildID)),
            ])
        appendObject(
            "device",
            [
                ("id", deviceID), ("manufacturer", try text(.deviceManufacturer)), ("model", try text(.deviceModel)),
                ("name", try text(.deviceModelName)),
            ])
        appendObject("os", [("name", try text(.osName)), ("version", try text(.osVersion))])
        attributes = try Self.object(list, of: bytes, maximumDepth)
        for text in [userID, installationID, deviceID, sessionID, serviceID, userAgent, clientAddress, members] {
            guard JSONText.text(text.span) != nil else { throw .invalidText }
        }
    }

    private func appendObject(_ name: String, _ fields: [(name: String, text: [UInt8])]) {
        let present = fields.filter { !$0.text.isEmpty }
        guard !present.isEmpty else { return }
        JSONMembers.appendName(name, to: &members)
        members.append(UInt8(ascii: "{"))
        for field in present {
            JSONMembers.appendName(field.name, to: &members)
            members += field.text
            members.append(UInt8(ascii: ","))
        }
        JSONMembers.close(with: "}", &members)
        members.append(UInt8(ascii: ","))
    }

    /// The attributes that are not hidden, as an object of `context.otel`; empty if there are none.
    static func object(
        _ attributes: [OTLPAttribute], of bytes: Span<UInt8>, _ maximumDepth: Int
    ) throws(OTLPFault) -> [UInt8] {
        guard attributes.contains(where: { !$0.isHidden }) else { return [] }
        var writer = OTLPValueWriter(maximumDepth: maximumDepth)
        var object = [UInt8(ascii: "{")]
        for attribute in attributes where !attribute.isHidden {
            // The event, `context`, `otel` and the object itself.
            try writer.appendMember(attribute, of: bytes, depth: 4, to: &object)
        }
        JSONMembers.close(with: "}", &object)
        guard JSONText.text(object.span) != nil else { throw .invalidText }
        return object
    }
}
