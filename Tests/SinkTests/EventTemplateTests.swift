import EventTemplates
import Events
import PenstockPluginKit
import Testing

/// The syntax of placeholders, which is the same in all plugins.
@Suite struct EventTemplateTests {
    private static let json =
        #"{"event":"a b","userId":7,"empty":"","list":[1],"properties":{"plan":"pro","a.b":"dot"}}"#

    private func text(_ template: String, _ json: String = json) throws -> String {
        let fields = EventFields()
        let template = try EventTemplate(template, setting: "topic", fields: fields)
        var output: [UInt8] = []
        let payload = json.utf8.span
        fields.read(payload)
        template.append(kind: "track", payload, fields, to: &output) { $1.append(contentsOf: $0) }
        return String(decoding: output, as: UTF8.self)
    }

    @Test(arguments: [
        ("fixed", "fixed"), ("{kind}", "track"), ("{kind|x}", "track"), ("e.{event}", "e.a b"), ("{userId}", "7"),
        ("{properties.plan}-{$.properties.plan}", "pro-pro"), (#"{properties.a\.b}"#, "dot"),
        ("{properties.a.b}", "none"), ("{missing}", "none"), ("{empty}", "none"), ("{list}", "none"),
        ("{list.0}", "1"), ("{properties}", "none"), ("{missing|free}", "free"), ("{missing|a|b}", "a|b"),
        ("{missing}{missing|x}", "nonex"),
    ])
    func `a placeholder becomes the value of its field`(template: String, text: String) throws {
        #expect(try self.text(template) == text)
    }

    @Test(arguments: ["[1]", "null", "7", #""text""#, "no JSON"])
    func `a payload that is not an object has no fields`(json: String) throws {
        #expect(try text("{kind}.{event}", json) == "track.none")
    }

    @Test func `what a protocol does not allow is replaced in values and defaults, and not in fixed text`() throws {
        let fields = EventFields()
        let template = try EventTemplate("a b.{event}.{missing|x y}", setting: "topic", fields: fields)
        var output: [UInt8] = []
        let payload = Self.json.utf8.span
        fields.read(payload)
        template.append(kind: "track", payload, fields, to: &output, isSafe: { $0 != UInt8(ascii: " ") })
        #expect(String(decoding: output, as: UTF8.self) == "a b.a_b.x_y")
    }

    @Test(arguments: [
        ("", "is empty"), ("a{event", "has a { without a }"), ("a}b", "has a } without a {"),
        ("{a{b}}", "has {a{b}, which is not the path of a field"), ("{}", "has {}, which"),
        ("{a..b}", "has {a..b}, which"),
        ("{event|}", "has {event|}, which"), ("{|x}", "has {|x}, which"), (#"{a\}"#, #"has {a\}, which"#),
    ])
    func `a text that is no template is an error that says why`(template: String, why: String) throws {
        let error = #expect(throws: SinkError.self) { try text(template) }
        #expect(error?.description.hasPrefix("settings.topic: \"\(template)\" \(why)") == true, "\(error as Any)")
        #expect(
            error?.description.hasSuffix("; write for example events.{kind} or events.{properties.plan|none}") == true)
    }

    @Test(arguments: [("x{event}", true), ("{kind}.{event}", true), ("{event}.x", false), ("{kind2}", false)])
    func `an event cannot choose how a name begins`(template: String, isValid: Bool) {
        let made = try? EventTemplate(template, setting: "s", fields: EventFields(), beginning: .fixedTextOrKind)
        #expect((made != nil) == isValid)
    }
}
