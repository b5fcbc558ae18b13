import Events

/// Attributes that have a meaning for an event.
enum OTLPName: Int, CaseIterable {
    case eventName, recordUID, userID, endUserID, installationID, deviceID, sessionID, clientAddress, userAgent
    // Of resources only.
    case serviceName, serviceVersion, serviceNamespace, serviceInstanceID, appBuildID, hostID, hostName
    case deviceManufacturer, deviceModel, deviceModelName, osName, osVersion
    // Not a convention: the property that a body becomes, unless an attribute has this key.
    case body

    /// The key, from OpenTelemetry's semantic conventions.
    var key: String {
        switch self {
        case .eventName: "event.name"
        case .recordUID: "log.record.uid"
        case .userID: "user.id"
        case .endUserID: "enduser.id"
        case .installationID: "app.installation.id"
        case .deviceID: "device.id"
        case .sessionID: "session.id"
        case .clientAddress: "client.address"
        case .userAgent: "user_agent.original"
        case .serviceName: "service.name"
        case .serviceVersion: "service.version"
        case .serviceNamespace: "service.namespace"
        case .serviceInstanceID: "service.instance.id"
        case .appBuildID: "app.build_id"
        case .hostID: "host.id"
        case .hostName: "host.name"
        case .deviceManufacturer: "device.manufacturer"
        case .deviceModel: "device.model.identifier"
        case .deviceModelName: "device.model.name"
        case .osName: "os.name"
        case .osVersion: "os.version"
        case .body: "body"
        }
    }
}

/// The attributes of one list that have a meaning for an event.
struct OTLPNamedAttributes {
    /// The index of the attribute with each name; -1 if there is none.
    private var indices = [Int](repeating: -1, count: OTLPName.allCases.count)
    private let keys = OTLPKeys.shared

    /// - Parameter start: the list's first attribute.
    mutating func find(in attributes: [OTLPAttribute], from start: Int, of bytes: Span<UInt8>) {
        for position in indices.indices { indices[position] = -1 }
        for index in start..<attributes.count {
            // If a key occurs twice, the last attribute counts.
            if let name = keys.name(of: bytes.extracting(attributes[index].key)) { indices[name.rawValue] = index }
        }
    }

    /// The index of the attribute with this name.
    subscript(name: OTLPName) -> Int? {
        let index = indices[name.rawValue]
        return index < 0 ? nil : index
    }
}

/// The keys by their length: most other keys differ from all of these in their length alone.
private struct OTLPKeys: Sendable {
    static let shared = OTLPKeys()

    private var byLength: [[(name: OTLPName, key: [UInt8])]] = []
    /// A bit for each length that a key has. All keys are shorter than 64 bytes.
    private var lengths: UInt64 = 0

    private init() {
        for name in OTLPName.allCases {
            let key = Array(name.key.utf8)
            while byLength.count <= key.count { byLength.append([]) }
            byLength[key.count].append((name, key))
            lengths |= 1 << UInt64(key.count)
        }
    }

    func name(of key: Span<UInt8>) -> OTLPName? {
        guard key.count < byLength.count, lengths >> UInt64(key.count) & 1 == 1 else { return nil }
        for candidate in byLength[key.count] where key.hasBytes(of: candidate.key.span) { return candidate.name }
        return nil
    }
}
