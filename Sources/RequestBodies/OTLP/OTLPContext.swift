import Events

/// What the events of one scope have in common: their resource, and the scope (the library that emitted them).
final class OTLPContext {
    let resource: OTLPResource
    /// Why none of the scope's log records can be an event.
    private(set) var problem: OTLPFault?
    /// Members of the context, each with a comma.
    private(set) var members: [UInt8] = []
    /// Members of `context.otel`, each with a comma.
    private(set) var telemetryMembers: [UInt8] = []

    /// - Parameter scope: the InstrumentationScope; nil if the log records have none.
    /// - Throws: only if the request is malformed.
    init(
        _ bytes: Span<UInt8>, scope: Range<Int>?, of resource: OTLPResource, maximumDepth: Int
    ) throws(OTLPFault) {
        self.resource = resource
        problem = resource.problem
        do throws(OTLPFault) {
            try read(bytes, scope, maximumDepth)
        } catch {
            guard case .record = error else { throw error }
            problem = error
        }
    }

    private func read(_ bytes: Span<UInt8>, _ scope: Range<Int>?, _ maximumDepth: Int) throws(OTLPFault) {
        members = resource.members
        appendObject("resource", resource.attributes)
        guard let scope else { return }
        var library: [(name: String, range: Range<Int>)] = []
        var reader = ProtobufReader(bytes, in: scope)
        while let field = try reader.nextField() {
            guard case .bytes(let range) = field.value, 1...2 ~= field.number else { continue }
            let name = field.number == 1 ? "name" : "version"
            library.removeAll { $0.name == name }
            if !range.isEmpty { library.append((name, range)) }
        }
        if !library.isEmpty {
            let start = members.count
            members += #""library":{"#.utf8
            for field in library {
                JSONMembers.appendName(field.name, to: &members)
                JSONText.appendString(bytes.extracting(field.range), to: &members)
                members.append(UInt8(ascii: ","))
            }
            JSONMembers.close(with: "}", &members)
            guard JSONText.text(members.span.extracting(start...)) != nil else { throw .invalidText }
            members.append(UInt8(ascii: ","))
        }
        var attributes: [OTLPAttribute] = []
        try OTLPValueWriter.read(bytes, scope, field: 3, into: &attributes)
        OTLPAttribute.hideRepeated(in: &attributes, from: 0, of: bytes)
        appendObject("scope", try OTLPResource.object(attributes, of: bytes, maximumDepth))
    }

    private func appendObject(_ name: String, _ object: [UInt8]) {
        if object.isEmpty { return }
        JSONMembers.appendName(name, to: &telemetryMembers)
        telemetryMembers += object
        telemetryMembers.append(UInt8(ascii: ","))
    }
}
