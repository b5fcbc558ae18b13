import DaemonConfiguration
import Events
import Routing
import Testing

// `context.penstock`: who sent an event, from the journal and never from the event's own bytes.

private let web = Origin(source: "apps", uid: 33, gid: 34, pid: 4321)
private let names: UserNames = { $0 == 33 ? "www-data" : nil }

/// An event whose client claims to be root.
private let forged = track(
    #""context":{"ip":"::1","penstock":{"source":"admin","peer":{"uid":0,"gid":0,"pid":1,"user":"root","x":1},"replay":true}}"#
)

@Suite("The sender of an event")
struct SenderTests {
    private func matches(_ filter: String, _ json: String = forged, from origin: Origin? = web) throws -> Bool {
        let event = SampleEvent(json, from: origin)
        return FilterMatcher(try Filter(parsing: filter), userNames: names)
            .matches(event.batch.json(of: event.record), event.record.index, from: origin)
    }

    @Test(arguments: [
        "context.penstock.peer.uid = 33", "context.penstock.peer.gid = 34", "context.penstock.peer.pid = 4321",
        "context.penstock.peer.pid > 4320 and context.penstock.peer.pid <= 4321",
        "context.penstock.peer.user = 'www-data'", "context.penstock.source = 'apps'",
        "context.penstock.source in ['apps', 'web']", "contains(context.penstock.peer.user, 'www')",
        "uppercase(context.penstock.source) = 'APPS'", "match(context.penstock.source, 'a*')",
        "typeof(context.penstock) = 'object'", "typeof(context.penstock.peer) = 'object'",
        "context.penstock.replay = null", "context.penstock.peer.x = null", "context.penstock.other = null",
        "string(context.penstock.peer.uid) = '33'", "context.ip = '::1'",
    ])
    func `a filter reads the sender from the journal, whatever the client wrote`(_ filter: String) throws {
        #expect(try matches(filter))
        #expect(try matches(filter, track(#""context":{"ip":"::1"}"#)))
    }

    @Test(arguments: [
        "context.penstock.peer.uid = 0", "context.penstock.peer.user = 'root'", "context.penstock.source = 'admin'",
        "context.penstock.replay", "context.penstock.peer.x = 1",
    ])
    func `a filter never believes a client`(_ filter: String) throws {
        #expect(try !matches(filter))
        #expect(try !matches(filter, from: nil))
        #expect(try !matches(filter, from: Origin(unknownPeerOf: "tcp")))
    }

    @Test
    func `the peer of a TCP client is missing, and its source is known`() throws {
        let tcp = Origin(unknownPeerOf: "tcp")
        for field in ["", ".uid", ".gid", ".pid", ".user"] {
            #expect(try matches("context.penstock.peer\(field) = null", from: tcp))
        }
        #expect(try matches("context.penstock.source = 'tcp'", from: tcp))
        #expect(try matches("context.penstock = null", from: nil))
    }

    @Test
    func `a user without a name has no user`() throws {
        let other = Origin(source: "apps", uid: 4_000_000_000, gid: 1, pid: 2)
        #expect(
            try matches("context.penstock.peer.uid = 4000000000 and context.penstock.peer.user = null", from: other))
    }

    private func output(
        _ mapping: MappingValue, _ json: String = forged, from origin: Origin? = web, pipeline: [Transform] = [],
        _ yaml: String? = nil
    ) throws -> String {
        let router = DestinationRouter(
            name: "out", pipeline: pipeline,
            routes: [.init(filter: .always, transforms: try yaml.map { try transforms($0) } ?? [])],
            mapping: MappingSetting(try Mapping(mapping), limit: 1 << 20) { $0 },
            journal: Array(repeating: 1, count: 16),
            userNames: names)
        return routed(router, json, from: origin)
    }

    private func routed(_ router: DestinationRouter, _ json: String, from origin: Origin?) -> String {
        let event = SampleEvent(json, from: origin)
        var output: [UInt8] = []
        let verdict = router.route(event.record, of: event.batch, into: &output)
        if case .routed = verdict { return String(decoding: output, as: UTF8.self) }
        return "\(verdict)"
    }

    private static let whole =
        #"{"source":"apps","peer":{"uid":33,"gid":34,"pid":4321,"user":"www-data"}}"#

    @Test(arguments: [
        ("$.context.penstock", whole), ("$.context.penstock.peer.user", #""www-data""#),
        ("{{ context.penstock.peer.uid }} by {{ context.penstock.source }}", #""33 by apps""#),
        ("$.context.penstock.peer", #"{"uid":33,"gid":34,"pid":4321,"user":"www-data"}"#),
    ])
    func `a mapping reads the sender`(_ mapping: String, _ expected: String) throws {
        #expect(try output(.string(mapping)) == expected)
        #expect(try output(.string(mapping), track("")) == expected)
        // Behind stages, which write the event again.
        let steps = "- set: { properties.a: 1 }\n- copy: { properties.a: properties.b }\n- lua: return event"
        #expect(try output(.string(mapping), pipeline: try transforms(steps), steps) == expected)
    }

    @Test
    func `a name with characters that JSON escapes is escaped`() throws {
        let odd = Origin(source: "a\"b", uid: 33, gid: 1, pid: 1)
        #expect(try output(.string("$.context.penstock.source"), from: odd) == #""a\"b""#)
        #expect(try matches("context.penstock.source = 'a\"b'", from: odd))
    }

    @Test
    func `directives inspect the sender as any other value`() throws {
        func directive(_ name: String, _ value: MappingValue) -> MappingValue { .object([.init(name, value)]) }
        let peer = MappingValue.string("$.context.penstock.peer")
        #expect(
            try output(directive("$merge", .list([peer, .object([.init("a", .bool(true))])])))
                == #"{"uid":33,"gid":34,"pid":4321,"user":"www-data","a":true}"#)
        #expect(
            try output(directive("$flatten", .string("$.context.penstock")))
                == #"{"source":"apps","peer.uid":33,"peer.gid":34,"peer.pid":4321,"peer.user":"www-data"}"#)
        #expect(try output(directive("$string", .string("$.context.penstock.peer.uid"))) == #""33""#)
        #expect(
            try output(directive("$arrayPath", .list([peer, .string("$.user")]))) == #"["www-data"]"#)
    }

    @Test
    func `the replay mark is read only in a replay, and the event that is sent has it`() throws {
        let field = MappingValue.string("{{ context.penstock.replay }}")
        #expect(try output(field) == #""""#)
        #expect(try output(field, pipeline: [.replayMark]) == #""true""#)
        #expect(
            try output(.string("$.context.penstock"), track(""), from: nil, pipeline: [.replayMark])
                == #"{"replay":true}"#)
        let router = DestinationRouter(
            name: "out", pipeline: [.replayMark], routes: [.init(filter: .always, transforms: [])],
            journal: Array(repeating: 1, count: 16))
        #expect(routed(router, track(""), from: web).contains(#""context":{"penstock":{"replay":true}}"#))
    }

    @Test
    func `transforms read the sender, and what they write replaces what the client wrote`() throws {
        func result(_ yaml: String, _ json: String = forged, from origin: Origin? = web) throws -> String {
            let router = DestinationRouter(
                name: "out", routes: [.init(filter: .always, transforms: try transforms(yaml))],
                journal: Array(repeating: 1, count: 16), userNames: names)
            return routed(router, json, from: origin)
        }
        let plain = track(#""context":{}"#)
        #expect(
            try result("- set: { context.penstock: $.context.penstock }")
                == track(#""context":{"ip":"::1","penstock":\#(Self.whole)}"#))
        #expect(
            try result("- copy: { context.penstock.peer.uid: properties.uid }", plain)
                == track(#""context":{},"properties":{"uid":33}"#))
        #expect(try result("- drop: [context.penstock]") == track(#""context":{"ip":"::1"}"#))
        #expect(try result("- drop: [context.penstock.peer.uid]", plain) == plain)
        #expect(try result("- hash: [context.penstock.peer.user]", plain) == plain)
        #expect(
            try result("- move: { context.penstock.peer.uid: properties.uid }", plain)
                == track(#""context":{},"properties":{"uid":33}"#))
        let step = "- set: { properties.kept: true }\n  where: context.penstock.peer.user = \"www-data\""
        #expect(try result(step, plain).contains("kept"))
        #expect(try !result(step, forged, from: Origin(source: "s", uid: 0, gid: 0, pid: 1)).contains("kept"))
        #expect(try result("- sample: { share: 0, by: context.penstock.peer.uid }").contains("sample"))
        // A field that the sender changes nothing about keeps its bytes, with duplicate keys as well.
        let twice = #"{"type":"track","event":"a","messageId":"m","userId":"u","context":{},"context":{"a":1}}"#
        #expect(
            try result("- set: { context.by: $.context.penstock.source }", twice)
                == #"{"type":"track","event":"a","messageId":"m","userId":"u","context":{"a":1,"by":"apps"}}"#)
    }

    @Test
    func `an event that is only selected by its sender keeps its bytes`() throws {
        let router = DestinationRouter(
            name: "out",
            routes: [.init(filter: try Filter(parsing: "context.penstock.peer.uid in [33]"), transforms: [])],
            journal: Array(repeating: 1, count: 16))
        for json in [forged, track("")] {
            #expect(routed(router, json, from: web) == json)
            #expect(routed(router, json, from: Origin(source: "apps", uid: 0, gid: 0, pid: 0)).contains("no_route"))
            #expect(routed(router, json, from: nil).contains("no_route"))
        }
    }

    @Test
    func `a script sees the event's own bytes`() throws {
        let router = DestinationRouter(
            name: "out",
            routes: [
                .init(
                    filter: try Filter(parsing: "context.penstock.source = 'apps'"),
                    transforms: try transforms("- lua: event.n = event.context.penstock.source; return event"))
            ], journal: Array(repeating: 1, count: 16))
        #expect(routed(router, forged, from: web).contains(#""n":"admin""#))
    }

    @Test
    func `a trace shows the sender that the router sees`() throws {
        let event = SampleEvent(forged, from: web)
        let filter = try Filter(parsing: "context.penstock.peer.user = 'www-data'")
        let trace = RouteTracer(
            name: "out",
            routes: [
                .init(
                    filter: filter,
                    transforms: try transforms(
                        "- set: { a: 1 }\n- set: { b: $.context.penstock.peer.uid }\n  where: context.penstock.peer.gid = 34"
                    ))
            ], userNames: names
        ).trace(event.record, of: event.batch)
        let read = trace.events[0].routes[0].filter
        #expect(read.isTrue && read.values == [.init(text: "context.penstock.peer.user", json: #""www-data""#)])
        #expect(trace.events[0].results.first?.contains(#""b":33"#) == true)
    }
}
