import Events
import Platform

/// Bodies that are not JSON, made of events that are.
enum TextBody {
    /// The text of a JSON string; of any other value, its JSON.
    static func text(_ json: [UInt8]) -> [UInt8] {
        guard let document = JSONDocument(json, maximumDepth: 64) else { return json }
        if case .string(let contents) = document.value {
            var text: [UInt8] = []
            if JSONText.unescape(json.span.extracting(contents), into: &text) { return text }
        }
        return Array(json[document.range])
    }

    /// Why an event cannot be written in a format.
    static func problem(_ json: [UInt8], _ format: HTTPOptions.Format) -> String? {
        switch format {
        case .text: return problem(line: json)
        case .xml:
            do throws(XMLBody.Problem) { _ = try XMLBody.document(json) } catch { return error.description }
            return nil
        case .ndjson, .lines, .array, .single, .form: return nil
        }
    }

    /// Otherwise a value of the event could forge further lines.
    private static func problem(line json: [UInt8]) -> String? {
        guard text(json).contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) else { return nil }
        return "its text has a line feed, and each event is one line; remove it in the mapping ($replace)"
    }

    /// The members of an object as the fields of a form; null is left out, and objects and lists are JSON. Any other
    /// value is sent as `value`.
    static func form(_ json: [UInt8]) -> [UInt8] {
        guard let document = JSONDocument(json, maximumDepth: 64), case .object(let members) = document.value else {
            return Array(FormText.encode([("value", String(decoding: text(json), as: UTF8.self))]).utf8)
        }
        let fields = members.compactMap { name, value -> (name: String, value: String)? in
            if case .null = value.value { return nil }
            let text = text(Array(json[value.range]))
            return (JSONText.string(name.span) ?? "", String(decoding: text, as: UTF8.self))
        }
        return Array(FormText.encode(fields).utf8)
    }
}
