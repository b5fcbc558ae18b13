import FoundationEssentials

/// - Throws: an error that names the setting.
func decode<Settings: Decodable>(_ json: String) throws -> Settings {
    do {
        return try JSONDecoder().decode(Settings.self, from: Data(json.utf8))
    } catch let error as DecodingError {
        switch error {
        case .keyNotFound(let key, let context): throw problem(context.codingPath + [key], "is missing")
        case .valueNotFound(_, let context): throw problem(context.codingPath, "is null")
        case .typeMismatch(_, let context), .dataCorrupted(let context):
            throw problem(context.codingPath, context.debugDescription)
        @unknown default: throw SinkError("settings: \(error)")
        }
    }
}

private func problem(_ path: [any CodingKey], _ text: String) -> SinkError {
    SinkError("\((["settings"] + path.map(\.stringValue)).joined(separator: ".")): \(text)")
}
