import Events
import Routing
import Testing

private let journal: [UInt8] = (0..<16).map { UInt8($0) }

/// The outcome of an event.
private enum Result: Equatable {
    case routed(String, messageID: String)
    case split([[String]])
    case filtered(String)
    case rejected(String)
}

private func route(
    _ json: String, _ routes: [DestinationRouter.Route], name: String = "archive", displayName: String? = nil,
    where filter: Filter = .always, transforms: [Transform] = []
) -> Result {
    let router = DestinationRouter(
        name: name, displayName: displayName, routes: routes, filter: filter, transforms: transforms, journal: journal)
    let event = SampleEvent(json)
    let before = Array("before\n".utf8)
    var results: [Result] = []
    // Routes the event twice, because no state of the first run may affect the second.
    for _ in 0..<2 {
        var output = before
        let verdict = router.route(event.record, of: event.batch, into: &output)
        #expect(output.starts(with: before))
        let text = String(decoding: output.dropFirst(before.count), as: UTF8.self)
        switch verdict {
        case .routed(let place, _):
            results.append(.routed(text, messageID: String(decoding: output[place], as: UTF8.self)))
        case .split(let parts):
            results.append(
                .split(parts.map { [$0.json, $0.messageID].map { String(decoding: output[$0], as: UTF8.self) } }))
        case .filtered(let reason):
            #expect(text.isEmpty)
            results.append(.filtered(reason))
        case .rejected(let reason):
            #expect(text.isEmpty)
            results.append(.rejected(reason))
        }
    }
    #expect(results[0] == results[1])
    return results[0]
}

private func set(_ members: (String, JSONValue)..., where condition: Filter = .always) throws -> Transform {
    try transform("set", members.map { ($0.0, $0.1) }, where: condition)
}

/// Makes a transform from a map, as the configuration does.
private func transform(
    _ name: String, _ members: [(String, JSONValue)], where condition: Filter = .always
) throws -> Transform {
    let entries = try members.map { key, value in
        SettingValue.MapEntry(
            key: key, path: try FieldPath(parsing: key), value: .template(try ValueTemplate(value, keys: [])))
    }
    return try #require(TransformCatalogue.declaration(of: name)).transform(.map(entries), where: condition)
}

private func everything(_ transforms: Transform...) -> [DestinationRouter.Route] {
    [DestinationRouter.Route(filter: .always, transforms: transforms)]
}

@Suite("A destination's router")
struct RouterTests {
    let signedUp = #"{"type":"track","event":"Signed Up","messageId":"m1","userId":"u1","properties":{"plan":"free"}}"#

    @Test
    func `an event without edits keeps its bytes`() {
        let odd =
            "{ \"type\" : \"track\",\t\"event\":\"A\", \"messageId\":\"\\u006d\",\"userId\":\"u\", \"n\":1.50e+01 }"
        #expect(route(odd, everything()) == .routed(odd, messageID: "\\u006d"))
    }

    @Test
    func `only the transforms of the first matching route apply`() throws {
        let routes = [
            DestinationRouter.Route(
                filter: try Filter(parsing: "type = 'page'"), transforms: [try set(("r", .integer(1)))]),
            DestinationRouter.Route(
                filter: try Filter(parsing: "event = 'Signed Up'"), transforms: [try set(("r", .integer(2)))]),
            DestinationRouter.Route(filter: .always, transforms: [try set(("r", .integer(3)))]),
        ]
        #expect(route(signedUp, routes) == .routed(signedUp.dropLast() + #","r":2}"#, messageID: "m1"))
        #expect(route(signedUp, [routes[0]]) == .filtered("no_route"))
        #expect(route(signedUp, []) == .filtered("no_route"))
    }

    @Test
    func `the destination's own filter sees the event after the route's transforms`() throws {
        let free = try Filter(parsing: "properties.plan = 'free'")
        let pro = try Filter(parsing: "properties.plan = 'pro'")
        #expect(route(signedUp, everything(), where: free) == .routed(signedUp, messageID: "m1"))
        #expect(route(signedUp, everything(), where: pro) == .filtered("where"))
        let upgrade = try set(("properties.plan", .string("pro")))
        let upgraded = signedUp.replacing("free", with: "pro")
        #expect(route(signedUp, everything(upgrade), where: pro) == .routed(upgraded, messageID: "m1"))
        #expect(route(signedUp, everything(upgrade), where: free) == .filtered("where"))
        // A filter on a field of the event's index that a transform changed.
        let renamed = try set(("event", .string("Joined")))
        let joined = try Filter(parsing: "event = 'Joined'")
        #expect(
            route(signedUp, everything(renamed), where: joined)
                == .routed(signedUp.replacing("Signed Up", with: "Joined"), messageID: "m1"))
    }

    @Test
    func `the route's transforms apply before the destination's, and each sees the changes of earlier ones`() throws {
        let first = try set(("a", .string("{{ event }}!")))
        let second = try set(("b", .string("$.a")), ("a", .string("x")))
        let third = try set(("c", .string("{{ b }}{{ a }}")))
        #expect(
            route(signedUp, everything(first, second), transforms: [third])
                == .routed(
                    signedUp.dropLast() + #","a":"x","b":"Signed Up!","c":"Signed Up!x"}"#, messageID: "m1"))
    }

    @Test(arguments: [
        (#"{"All":false}"#, false), (#"{"All":true}"#, true), (#"{}"#, true), ("null", true),
        (#"{"All":false,"archive":true}"#, true), (#"{"archive":false}"#, false),
        (#"{"archive":false,"Archive Store":true}"#, false), (#"{"Archive Store":false}"#, false),
        (#"{"All":false,"Archive Store":{"key":1}}"#, true), (#"{"Archive":false}"#, true),
        (#"{"All":false,"archive":null}"#, false), (#"[false]"#, true),
    ])
    func `integrations excludes destinations, and a destination's name has priority over All`(
        _ value: String, _ allowed: Bool
    ) {
        let event = #"{"type":"track","event":"A","messageId":"m","userId":"u","integrations":\#(value)}"#
        #expect(
            route(event, everything(), displayName: "Archive Store")
                == (allowed ? .routed(event, messageID: "m") : .filtered("integrations")))
    }

    @Test
    func `an event that matches no route is filtered as no_route, not as integrations`() throws {
        let event = #"{"type":"track","event":"A","messageId":"m","userId":"u","integrations":{"All":false}}"#
        let routes = [DestinationRouter.Route(filter: try Filter(parsing: "type = 'page'"), transforms: [])]
        #expect(route(event, routes) == .filtered("no_route"))
    }

    @Test
    func `a missing message id is derived from the journal and the position`() throws {
        let id = MessageID.derived(journal: journal, position: 7)
        let bare = #"{"type":"track","event":"A","userId":"u"}"#
        #expect(route(bare, everything()) == .routed(bare.dropLast() + #","messageId":"\#(id)"}"#, messageID: id))
        let null = #"{"type":"track","messageId": null,"event":"A","userId":"u"}"#
        #expect(
            route(null, everything())
                == .routed(#"{"type":"track","messageId": "\#(id)","event":"A","userId":"u"}"#, messageID: id))
        let routed = try set(("routed", .string("w1")))
        #expect(
            route(bare, everything(routed))
                == .routed(bare.dropLast() + #","routed":"w1","messageId":"\#(id)"}"#, messageID: id))
        // The same with two stages.
        let again = try set(("copy", .string("$.routed")))
        #expect(
            route(bare, everything(routed, again))
                == .routed(bare.dropLast() + #","routed":"w1","copy":"w1","messageId":"\#(id)"}"#, messageID: id))
    }

    @Test
    func `a transform can set the message id`() throws {
        let given = try set(("messageId", .string("{{ properties.id }}-{{ userId }}")), ("z", .null))
        let event = #"{"type":"track","messageId":"old","event":"A","userId":"u","properties":{"id":42}}"#
        #expect(
            route(event, everything(given))
                == .routed(
                    #"{"type":"track","messageId":"42-u","event":"A","userId":"u","properties":{"id":42},"z":null}"#,
                    messageID: "42-u"))
        let bare = #"{"type":"track","event":"A","userId":"u","properties":{"id":42}}"#
        #expect(
            route(bare, everything(given))
                == .routed(bare.dropLast() + #","messageId":"42-u","z":null}"#, messageID: "42-u"))
        let number = try set(("messageId", .integer(5)))
        #expect(
            route(event, everything(number))
                == .routed(event.replacing("\"old\"", with: "5"), messageID: ""))
        // The template has no value: the event keeps its id or gets a derived one.
        let missing = try set(("messageId", .string("$.properties.none")))
        let id = MessageID.derived(journal: journal, position: 7)
        #expect(route(event, everything(missing)) == .routed(event, messageID: "old"))
        #expect(
            route(bare, everything(missing)) == .routed(bare.dropLast() + #","messageId":"\#(id)"}"#, messageID: id))
    }

    @Test
    func `the message id is found after edits have moved it`() throws {
        let event = #"{"a":1,"type":"track","messageId":"m-é","event":"A","userId":"u","b":2}"#
        let edits = try set(("a", .string("much longer than before")), ("b", .list([])))
        #expect(
            route(event, everything(edits))
                == .routed(
                    #"{"a":"much longer than before","type":"track","messageId":"m-é","event":"A","userId":"u","b":[]}"#,
                    messageID: "m-é"))
    }

    @Test
    func `an event whose bytes are not valid JSON any more is rejected`() throws {
        let routes = [DestinationRouter.Route(filter: try Filter(parsing: "properties.a = 1"), transforms: [])]
        let broken = #"{"type":"track","event":"A","userId":"u","properties":{"a":1"#
        let event = SampleEvent(broken)
        let router = DestinationRouter(name: "archive", routes: routes, journal: journal)
        var output: [UInt8] = []
        #expect(
            router.route(event.record, of: event.batch, into: &output)
                == .rejected(reason: "the event's bytes are not the JSON that was accepted"))
        #expect(output.isEmpty)
    }

    @Test
    func `an event far larger than usual can be routed`() throws {
        let filler = String(repeating: "x", count: 300_000)
        let event = #"{"type":"track","event":"A","messageId":"m","userId":"u","filler":"\#(filler)","plan":"pro"}"#
        let routes = [
            DestinationRouter.Route(
                filter: try Filter(parsing: "plan = 'pro'"), transforms: [try set(("r", .bool(true)))])
        ]
        #expect(route(event, routes) == .routed(event.dropLast() + #","r":true}"#, messageID: "m"))
    }
}

@Suite("set")
struct SetTests {
    private static func event(_ rest: String) -> String {
        #"{"type":"track","event":"Said \"hi\"","messageId":"m","userId":"u"\#(rest)}"#
    }

    @Test
    func `set adds a new field after the last one and replaces an existing one in its place`() throws {
        let transform = try set(("routed", .string("w1")))
        #expect(route(Self.event(""), everything(transform)) == .routed(Self.event(#","routed":"w1""#), messageID: "m"))
        #expect(
            route(Self.event(#","routed":{"by":[1]},"z":1"#), everything(transform))
                == .routed(Self.event(#","routed":"w1","z":1"#), messageID: "m"))
        #expect(
            route(Self.event(#","routed":null"#), everything(transform))
                == .routed(Self.event(#","routed":"w1""#), messageID: "m"))
    }

    @Test
    func `set makes a missing parent object once for all of its fields`() throws {
        let transform = try set(
            ("context.app.name", .string("shop")), ("properties.plan", .string("pro")),
            ("context.app.build", .integer(3)))
        #expect(
            route(Self.event(""), everything(transform))
                == .routed(
                    Self.event(#","context":{"app":{"name":"shop","build":3}},"properties":{"plan":"pro"}"#),
                    messageID: "m"))
        #expect(
            route(Self.event(#","properties":{ },"context":{"ip":"::1" }"#), everything(transform))
                == .routed(
                    Self.event(
                        #","properties":{ "plan":"pro"},"context":{"ip":"::1" ,"app":{"name":"shop","build":3}}"#),
                    messageID: "m"))
        #expect(
            route(Self.event(#","context":{"app":null},"properties":null"#), everything(transform))
                == .routed(
                    Self.event(#","context":{"app":{"name":"shop","build":3}},"properties":{"plan":"pro"}"#),
                    messageID: "m"))
    }

    @Test
    func `set replaces list items by number but never adds items`() throws {
        let event = Self.event(#","products":[{"sku":"a"},{"sku":"b"}]"#)
        let transform = try set(("products.1.sku", .string("c")), ("products.0.new", .bool(true)))
        #expect(
            route(event, everything(transform))
                == .routed(Self.event(#","products":[{"sku":"a","new":true},{"sku":"c"}]"#), messageID: "m"))
        #expect(
            route(event, everything(try set(("products.2", .string("c")))))
                == .rejected("set: products.2 does not exist, and new items cannot be added to a list"))
    }

    @Test
    func `set rejects the event if a parent is not an object`() throws {
        #expect(
            route(Self.event(#","context":{"app":"shop"}"#), everything(try set(("context.app.name", .string("x")))))
                == .rejected("set: context.app is not an object, so nothing can be set inside it"))
    }

    @Test
    func `values can be literals of any kind, paths and templates`() throws {
        let event = Self.event(#","n":1.50,"list":[1,"é"],"no":null,"yes":true,"o":{"k":"v"}"#)
        func value(_ value: JSONValue) throws -> String? {
            guard case .routed(let text, _) = route(event, everything(try set(("v", value)))) else { return nil }
            return text == event ? "" : text.split(separator: #","v":"#).last.map { String($0.dropLast()) }
        }
        #expect(try value(.null) == "null")
        #expect(try value(.number("12345678901234567890.50")) == "12345678901234567890.50")
        #expect(try value(.number("-3")) == "-3")
        #expect(try value(.string("a \"b\"\n")) == #""a \"b\"\n""#)
        #expect(try value(.list([.number("1"), .object([.init("k", .bool(false))])])) == #"[1,{"k":false}]"#)
        #expect(try value(.string("$.n")) == "1.50")
        #expect(try value(.string("$.list")) == #"[1,"é"]"#)
        #expect(try value(.string("$.event")) == #""Said \"hi\"""#)
        #expect(try value(.string("$.no")) == "null")
        #expect(try value(.string("$.missing")) == "")
        #expect(try value(.string("{{ event }}: {{n}}{{ yes }}{{no}}{{ missing }}")) == #""Said \"hi\": 1.50true""#)
        #expect(try value(.string("{{ o }}")) == #""{\"k\":\"v\"}""#)
        #expect(try value(.string("{{list.1}}{")) == #""é{""#)
        #expect(
            try value(
                .object([
                    .init("a", .string("$.missing")), .init("b", .list([.string("$.n"), .string("$.gone")])),
                    .init("c", .string("{{ type }}")),
                ]))
                == #"{"b":[1.50],"c":"track"}"#)
        #expect(try value(.object([.init("$literal", .string("$.n"))])) == #""$.n""#)
        #expect(try value(.list([.object([.init("$literal", .string("{{ n }}"))])])) == #"["{{ n }}"]"#)
    }

    @Test
    func `set with its own where skips other events`() throws {
        let transform = try set(("big", .bool(true)), where: try Filter(parsing: "n > 10"))
        #expect(
            route(Self.event(#","n":11"#), everything(transform))
                == .routed(Self.event(#","n":11,"big":true"#), messageID: "m"))
        #expect(route(Self.event(#","n":9"#), everything(transform)) == .routed(Self.event(#","n":9"#), messageID: "m"))
    }

    @Test
    func `set replaces the last duplicate of a name and removes the others`() throws {
        #expect(
            route(Self.event(#","x":1,"x":2"#), everything(try set(("x", .integer(3)))))
                == .routed(Self.event(#","x":3"#), messageID: "m"))
    }

    @Test
    func `all errors are reported together, each at its key`() {
        #expect(
            messages(
                """
                - set:
                    type: page
                    a..b: 1
                    c: "{{ event }"
                    d: [1, $.x y]
                    e: { $path: x }
                    f: .inf
                    g.h: null
                    g: null
                    messageId.x: null
                """) == [
                    "9:11 the kind of an event cannot be changed",
                    "10:11 expected a field name, not .",
                    "11:15 expected }} after this path",
                    "12:21 a space is not allowed here",
                    "13:16 $path is not supported here",
                    "14:14 \".inf\" has no value in JSON",
                    "16:11 g and g.h overlap",
                    "17:11 messageId is a string; nothing can be set inside it",
                ])
    }

    @Test
    func `a value that is nested too deep is refused`() throws {
        var value = JSONValue.number("1")
        for _ in 0..<40 { value = .list([value]) }
        let error = try #require(throws: TransformError.self) { try ValueTemplate(value, keys: []) }
        #expect(error.fault.message == "this value is nested more than 32 levels deep")
    }
}
