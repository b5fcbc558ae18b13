import Events
import Routing
import Testing

// What clients really send: empty ids, and traits in the context.

@Suite("Empty ids")
struct EmptyIDTests {
    private static let empty = #"{"type":"track","event":"a","messageId":"m","userId":"","anonymousId":""}"#
    private static let anonymous = #"{"type":"track","event":"a","messageId":"m","userId":"","anonymousId":"x"}"#

    /// An event whose index has empty ids, as journals of early versions do, and one whose index has none.
    private func events(_ json: String) -> [SampleEvent] {
        let old = SampleEvent(json)
        #expect(old.record.index.userID.isPresent && old.record.index.userID.length == 0)
        return [old, SampleEvent(json, hasEmptyIDs: false)]
    }

    @Test(arguments: [
        "userId = null", "!(userId = '')", "userId != ''", "userId in [null]", "!(userId in ['', 'a'])",
        "typeof(userId) = 'null'", "length(userId) = 0", "userId = anonymousId", "anonymousId = null",
        "!bool(userId)", "string(userId) = null",
    ])
    func `an empty id is null in a filter`(_ filter: String) throws {
        for event in events(Self.empty) { #expect(event.passes(try Filter(parsing: filter))) }
    }

    @Test
    func `an empty id is missing in mappings, templates and transforms`() throws {
        let mapping = try Mapping(
            .object([
                .init("user", .string("$.userId")), .init("text", .string("<{{ userId }}>")),
                .init("anonymous", .string("$.anonymousId")),
            ]))
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: [])],
            mapping: MappingSetting(mapping, limit: 1000) { $0 }, journal: Array(repeating: 1, count: 16))
        for event in events(Self.anonymous) {
            var output: [UInt8] = []
            _ = router.route(event.record, of: event.batch, into: &output)
            #expect(String(decoding: output, as: UTF8.self) == #"{"text":"<>","anonymous":"x"}"#)
        }
        #expect(
            try transformed(Self.anonymous, "- enrich: { values: { userId: nobody } }")
                == Self.anonymous.replacing(#""userId":"""#, with: #""userId":"nobody""#))
        #expect(try transformed(Self.anonymous, "- copy: { userId: properties.user }") == Self.anonymous)
        #expect(
            try transformed(Self.anonymous, "- drop: [userId]")
                == Self.anonymous.replacing(#""userId":"","#, with: ""))
    }

    @Test
    func `an event with an empty id keeps its bytes`() throws {
        #expect(try transformed(Self.empty, "[]") == Self.empty)
        #expect(
            try transformed(Self.empty, "- set: { a: 1 }\n  where: userId = null")
                == Self.empty.dropLast() + #","a":1}"#)
    }

    @Test
    func `sample takes an empty user id for none and decides by the anonymous id`() throws {
        for share in ["10%", "50%", "90%"] {
            for id in 0..<30 {
                let given = #"{"type":"track","event":"a","messageId":"m","anonymousId":"\#(id)"}"#
                let empty = #"{"type":"track","event":"a","messageId":"m","userId":"","anonymousId":"\#(id)"}"#
                let passes = try [given, empty].map {
                    try transformed($0, "- sample: { share: \(share) }") != "dropped by sample"
                }
                #expect(passes[0] == passes[1])
            }
        }
    }
}

@Suite("Traits in the context")
struct ContextTraitsTests {
    private static let traits = #"{"email":"a@b.example","plan":"pro","address":{"city":"Bonn"}}"#

    /// An identify with these members.
    private func identify(_ rest: String, type: String = "identify") -> String {
        #"{"type":"\#(type)","messageId":"m","userId":"u","groupId":"g",\#(rest)}"#
    }

    private var rudder: String { identify(#""context":{"traits":\#(Self.traits)}"#) }
    private var withNull: String { identify(#""traits":null,"context":{"traits":\#(Self.traits)}"#) }

    private func mapped(_ json: String, _ mapping: String, _ yaml: String = "[]") throws -> String {
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: try transforms(yaml))],
            mapping: MappingSetting(try Mapping(.string(mapping)), limit: 1000) { $0 },
            journal: Array(repeating: 1, count: 16))
        return outcome(of: router, json).replacing(" with the messageId ", with: "")
    }

    @Test(arguments: [
        "traits.plan = 'pro'", "traits.address.city = 'Bonn'", "typeof(traits) = 'object'", "traits.none = null",
    ])
    func `an identify without traits has those of its context`(_ filter: String) throws {
        for json in [rudder, withNull] { #expect(SampleEvent(json).passes(try Filter(parsing: filter))) }
    }

    @Test
    func `other events and identify events with traits have their own`() throws {
        let filter = try Filter(parsing: "traits.plan = 'pro'")
        let context = #""context":{"traits":\#(Self.traits)}"#
        for json in [
            identify(#""traits":{},"# + context), identify(#""traits":{"plan":"free"},"# + context),
            identify(context, type: "group"), identify(context, type: "track"),
            identify(#""context":{"traits":["pro"]}"#), identify(#""context":{"traits":null}"#),
        ] {
            #expect(!SampleEvent(json).passes(filter))
        }
        #expect(SampleEvent(identify(#""traits":{"plan":"pro"},"context":{"traits":1}"#)).passes(filter))
    }

    @Test
    func `a mapping reads the traits of the context`() throws {
        for json in [rudder, withNull] {
            #expect(try mapped(json, "$.traits") == Self.traits)
            #expect(try mapped(json, "{{ traits.email }} in {{ traits.address.city }}") == #""a@b.example in Bonn""#)
        }
    }

    @Test
    func `an event that is only selected by its traits keeps its bytes`() throws {
        #expect(
            try transformed(rudder, "- set: { a: 1 }\n  where: traits.plan = \"pro\"")
                == rudder.dropLast() + #","a":1}"#)
    }

    @Test(arguments: [
        ("- drop: [traits.email]", #"{"plan":"pro","address":{"city":"Bonn"}}"#),
        ("- drop: [traits.email, context.traits.email]", #"{"plan":"pro","address":{"city":"Bonn"}}"#),
        ("- set: { traits.plan: free }", #"{"email":"a@b.example","plan":"free","address":{"city":"Bonn"}}"#),
        ("- set: { traits.new: 1 }", #"{"email":"a@b.example","plan":"pro","address":{"city":"Bonn"},"new":1}"#),
        ("- mask: [traits.email]", #"{"email":"********ple","plan":"pro","address":{"city":"Bonn"}}"#),
        (
            "- mask: [traits.email, context.traits.email]",
            #"{"email":"********ple","plan":"pro","address":{"city":"Bonn"}}"#
        ),
        (
            "- mask: [context.traits.email]\n- mask: [traits.plan]",
            #"{"email":"********ple","plan":"**o","address":{"city":"Bonn"}}"#
        ),
        ("- rename: { traits.plan: tier }", #"{"email":"a@b.example","tier":"pro","address":{"city":"Bonn"}}"#),
        ("- keep: [traits.plan]", #"{"plan":"pro"}"#),
        ("- flatten: [traits]", #"{"email":"a@b.example","plan":"pro","address_city":"Bonn"}"#),
        ("- move: { traits.address: traits.home }", #"{"email":"a@b.example","plan":"pro","home":{"city":"Bonn"}}"#),
        ("- set: { traits.a: 1 }\n- drop: [traits.a, traits.address]", #"{"email":"a@b.example","plan":"pro"}"#),
    ])
    func `a transform edits the traits where they are`(_ yaml: String, _ expected: String) throws {
        let result = identify(#""context":{"traits":\#(expected)}"#)
        #expect(try transformed(rudder, yaml) == result)
        #expect(try mapped(rudder, "$.traits", yaml) == expected)
        #expect(try transformed(withNull, yaml) == result.replacing(#""context""#, with: #""traits":null,"context""#))
        // Traits of the event itself are edited as always, and the context is not.
        let own = identify(#""traits":\#(Self.traits)"#)
        #expect(try transformed(own, yaml) == identify(#""traits":\#(expected)"#) || yaml.contains("context"))
    }

    @Test
    func `dropped traits of the context are not read`() throws {
        for yaml in ["- drop: [context.traits]", "- drop: [context]", "- drop: [traits]", "- keep: [context.os]"] {
            #expect(try mapped(rudder, "<{{ traits.email }}>", yaml) == #""<>""#)
            #expect(try !transformed(rudder, yaml).contains("a@b"))
        }
        #expect(
            try mapped(rudder, "$.traits", "- hash: [context.traits.email]\n- set: { a: $.traits.email }")
                .contains("a@b") == false)
        #expect(
            try !transformed(rudder, "- hash: [context.traits.email]\n- set: { a: $.traits.email }").contains("a@b"))
    }

    @Test
    func `new traits as a whole belong to the event`() throws {
        #expect(try mapped(rudder, "$.traits", "- set: { traits: { a: 1 } }") == #"{"a":1}"#)
        let none = identify(#""context":{}"#)
        #expect(try transformed(none, "- set: { traits.a: 1 }") == none.dropLast() + #","traits":{"a":1}}"#)
        #expect(try transformed(rudder, "- rename: { traits: profile }") == rudder)
        #expect(
            try transformed(withNull, "- rename: { traits: profile }")
                == withNull.replacing(#""traits":null"#, with: #""profile":null"#))
    }

    @Test
    func `a scrubber finds the traits, too`() throws {
        let event = SampleEvent(rudder)
        var output: [UInt8] = []
        _ = Scrubber(try transforms("- drop: [traits.email]"))
            .scrub(event.batch.json(of: event.record), event.record.index, into: &output)
        #expect(!String(decoding: output, as: UTF8.self).contains("a@b"))
    }
}
