import Events

/// Writes log records as events. Keeps memory for the attributes of one record.
struct OTLPEventWriter {
    private let maximumEventSize: Int
    private var values: OTLPValueWriter
    /// The members of the body, if it is a list, and then the record's attributes.
    private var attributes: [OTLPAttribute] = []
    private var named = OTLPNamedAttributes()
    /// The last record's `log.record.uid`; empty if it has none.
    private var uid = 0..<0

    init(limits: OTLPLogs.Limits) {
        maximumEventSize = limits.maximumEventSize
        values = OTLPValueWriter(maximumDepth: limits.maximumDepth)
    }

    /// The last record's id.
    func messageID(in bytes: Span<UInt8>) -> String? { uid.isEmpty ? nil : JSONText.text(bytes.extracting(uid)) }

    /// Appends the event of a LogRecord as JSON, without a line feed. If it throws, a part may have been appended.
    mutating func append(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ context: OTLPContext, to output: inout [UInt8]
    ) throws(OTLPFault) {
        let start = output.count
        attributes.removeAll(keepingCapacity: true)
        uid = 0..<0
        let record = try OTLPRecord(bytes, range, attributes: &attributes)
        var body = OTLPValue.none
        if let range = record.body { body = try OTLPValue(bytes, range) }
        let first = try insertBody(body, bytes)
        OTLPAttribute.hideRepeated(in: &attributes, from: 0, of: bytes)
        named.find(in: attributes, from: first, of: bytes)
        try takeMessageID(bytes)

        output += #"{"type":"track","event":"#.utf8
        guard try appendName(record, bytes, to: &output) else {
            throw .record(
                .eventNotDefined,
                "a log record without an event name is not an event; set event_name, or the attribute event.name")
        }
        if let problem = context.problem { throw problem }
        // Fails before a large resource is copied again and again.
        guard context.members.count + context.telemetryMembers.count <= maximumEventSize else { throw tooLarge }

        try appendIDs(bytes, context.resource, to: &output)
        if !uid.isEmpty {
            output += #","messageId":"#.utf8
            JSONText.appendString(bytes.extracting(uid), to: &output)
        }
        let time = record.time > 0 ? record.time : record.observedTime
        if time > 0 {
            output += #","timestamp":"#.utf8
            appendTime(time, to: &output)
        }
        let beforeContext = output.count
        output += #","context":{"#.utf8
        let firstMember = output.count
        output += context.members
        try appendClient(bytes, context.resource, to: &output)
        appendTelemetry(record, bytes, context, to: &output)
        if output.count > firstMember {
            JSONMembers.close(with: "}", &output)
        } else {
            output.removeLast(output.count - beforeContext)
        }
        // Last, because the parts above hide the attributes that they use.
        try appendProperties(body, bytes, to: &output)
        output.append(UInt8(ascii: "}"))

        guard output.count - start <= maximumEventSize else { throw tooLarge }
        guard (try? UTF8Span(validating: output.span.extracting(start...))) != nil else { throw .invalidText }
    }

    private var tooLarge: OTLPFault { .record(.tooLarge, Refusal.tooLarge(maximum: maximumEventSize).detail) }

    /// Puts the members of a body that is a list before the attributes. So an attribute with the same key wins.
    /// - Returns: the index of the first attribute.
    private mutating func insertBody(_ body: OTLPValue, _ bytes: Span<UInt8>) throws(OTLPFault) -> Int {
        guard case .list(let range) = body else { return 0 }
        var members: [OTLPAttribute] = []
        try OTLPValueWriter.read(bytes, range, field: 1, into: &members)
        attributes.insert(contentsOf: members, at: 0)
        return members.count
    }

    /// Hides the attribute that becomes the event's `messageId`. An id that is too long remains a property.
    private mutating func takeMessageID(_ bytes: Span<UInt8>) throws(OTLPFault) {
        guard let index = named[.recordUID],
            case .string(let text) = try OTLPValueWriter.value(of: attributes[index], bytes), !text.isEmpty
        else { return }
        var characters = 0
        for position in text where bytes[position] & 0xC0 != 0x80 { characters += 1 }
        // The limit of the scanner.
        guard characters <= 100 else { return }
        uid = text
        attributes[index].isHidden = true
    }

    private mutating func appendName(
        _ record: OTLPRecord, _ bytes: Span<UInt8>, to output: inout [UInt8]
    ) throws(OTLPFault) -> Bool {
        if !record.eventName.isEmpty {
            JSONText.appendString(bytes.extracting(record.eventName), to: &output)
            return true
        }
        guard let index = named[.eventName],
            case .string(let name) = try OTLPValueWriter.value(of: attributes[index], bytes), !name.isEmpty
        else { return false }
        JSONText.appendString(bytes.extracting(name), to: &output)
        attributes[index].isHidden = true
        return true
    }

    /// Appends the value of an attribute as `,"field":"…"`, and hides the attribute, if it is text.
    private mutating func move(
        _ name: OTLPName, to field: String, keeps: Bool = false, _ bytes: Span<UInt8>, _ output: inout [UInt8]
    ) throws(OTLPFault) -> Bool {
        guard let index = named[name] else { return false }
        let start = output.count
        output.append(UInt8(ascii: ","))
        JSONMembers.appendName(field, to: &output)
        guard try OTLPValueWriter.value(of: attributes[index], bytes).appendText(of: bytes, to: &output) else {
            output.removeLast(output.count - start)
            return false
        }
        attributes[index].isHidden = !keeps
        return true
    }

    private mutating func appendIDs(
        _ bytes: Span<UInt8>, _ resource: OTLPResource, to output: inout [UInt8]
    ) throws(OTLPFault) {
        func appendResource(_ id: [UInt8], _ name: String) -> Bool {
            if id.isEmpty { return false }
            output.append(UInt8(ascii: ","))
            JSONMembers.appendName(name, to: &output)
            output += id
            return true
        }
        var hasUser = try move(.userID, to: "userId", bytes, &output)
        if !hasUser { hasUser = try move(.endUserID, to: "userId", bytes, &output) }
        if !hasUser { hasUser = appendResource(resource.userID, "userId") }

        // The most lasting id first. A session's id still counts its events, so it also remains a property.
        let field = "anonymousId"
        if try move(.installationID, to: field, bytes, &output) || appendResource(resource.installationID, field) {
            return
        }
        if try move(.deviceID, to: field, bytes, &output) || appendResource(resource.deviceID, field) { return }
        if try move(.sessionID, to: field, keeps: true, bytes, &output)
            || appendResource(resource.sessionID, field)
        {
            return
        }
        // All users of a service share its id. Services that join ids would take them for one person.
        guard !hasUser, !appendResource(resource.serviceID, field) else { return }
        throw .record(
            .noUserOrAnonymousID,
            """
            the log record has no id; set its attribute user.id, or a resource attribute such as app.installation.id \
            or service.name
            """)
    }

    /// Appends the members of the context that describe a client, each with a comma.
    private mutating func appendClient(
        _ bytes: Span<UInt8>, _ resource: OTLPResource, to output: inout [UInt8]
    ) throws(OTLPFault) {
        let fields = [
            (OTLPName.clientAddress, "ip", resource.clientAddress), (.userAgent, "userAgent", resource.userAgent),
        ]
        for (name, field, common) in fields {
            if let index = named[name] {
                let value = try OTLPValueWriter.value(of: attributes[index], bytes)
                let start = output.count
                JSONMembers.appendName(field, to: &output)
                if name != .clientAddress || OTLPAddress.isAddress(value, bytes),
                    value.appendText(of: bytes, to: &output)
                {
                    output.append(UInt8(ascii: ","))
                    attributes[index].isHidden = true
                    continue
                }
                output.removeLast(output.count - start)
            }
            if common.isEmpty { continue }
            JSONMembers.appendName(field, to: &output)
            output += common
            output.append(UInt8(ascii: ","))
        }
    }

    /// Appends `"otel":{…}`: what the record says about itself.
    private func appendTelemetry(
        _ record: OTLPRecord, _ bytes: Span<UInt8>, _ context: OTLPContext, to output: inout [UInt8]
    ) {
        func append(_ name: String, _ number: Int64) {
            if number == 0 { return }
            JSONMembers.appendName(name, to: &output)
            JSONDigits.append(number, to: &output)
            output.append(UInt8(ascii: ","))
        }
        func append(_ name: String, hexadecimal id: Range<Int>, size: Int) {
            // Zeros are an invalid id, which stands for none.
            guard id.count == size, id.contains(where: { bytes[$0] != 0 }) else { return }
            JSONMembers.appendName(name, to: &output)
            output.append(UInt8(ascii: "\""))
            Hexadecimal.append(bytes.extracting(id), to: &output)
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ","))
        }
        let start = output.count
        JSONMembers.appendName("otel", to: &output)
        output.append(UInt8(ascii: "{"))
        let first = output.count
        output += context.telemetryMembers
        append("severity_number", Int64(record.severityNumber))
        if !record.severityText.isEmpty {
            JSONMembers.appendName("severity_text", to: &output)
            JSONText.appendString(bytes.extracting(record.severityText), to: &output)
            output.append(UInt8(ascii: ","))
        }
        append("trace_id", hexadecimal: record.traceID, size: 16)
        append("span_id", hexadecimal: record.spanID, size: 8)
        append("flags", Int64(record.flags))
        if record.observedTime > 0 {
            JSONMembers.appendName("observed_time", to: &output)
            appendTime(record.observedTime, to: &output)
            output.append(UInt8(ascii: ","))
        }
        append("dropped_attributes_count", Int64(record.droppedAttributes))
        if output.count == first {
            output.removeLast(output.count - start)
            return
        }
        JSONMembers.close(with: "}", &output)
        output.append(UInt8(ascii: ","))
    }

    /// Appends a time as a JSON string.
    /// - Parameter nanoseconds: since 1970-01-01 UTC. The largest value is in the year 2554.
    private func appendTime(_ nanoseconds: UInt64, to output: inout [UInt8]) {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        output.append(UInt8(ascii: "\""))
        let isFit = Timestamp.append(EventTime(seconds: Int64(seconds), nanoseconds: Int64(rest)), to: &output)
        assert(isFit, "64 bits of nanoseconds end before the year 9999")
        output.append(UInt8(ascii: "\""))
    }

    private mutating func appendProperties(
        _ body: OTLPValue, _ bytes: Span<UInt8>, to output: inout [UInt8]
    ) throws(OTLPFault) {
        output += #","properties":{"#.utf8
        switch body {
        case .none, .list: break
        default:
            if named[.body] != nil { break }
            JSONMembers.appendName("body", to: &output)
            try values.append(body, of: bytes, depth: 2, to: &output)
            output.append(UInt8(ascii: ","))
        }
        for attribute in attributes where !attribute.isHidden {
            try values.appendMember(attribute, of: bytes, depth: 2, to: &output)
        }
        JSONMembers.close(with: "}", &output)
    }
}
