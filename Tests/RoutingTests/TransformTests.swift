import DaemonConfiguration
import Events
import Foundation
import Routing
import Testing

/// The result of a list of transforms for an event: its JSON, `dropped by NAME`, or `rejected: REASON`.
func transformed(_ json: String, _ yaml: String, host: String = "wall", position: UInt64 = 7) throws -> String {
    outcome(of: try router(yaml, host: host), json, position: position)
}

func router(_ yaml: String, host: String = "wall") throws -> DestinationRouter {
    DestinationRouter(
        name: "out", routes: [.init(filter: .always, transforms: try transforms(yaml))], host: host,
        journal: [UInt8](repeating: 1, count: 16))
}

func outcome(of router: DestinationRouter, _ json: String, position: UInt64 = 7, receivedAt: Int64 = 0) -> String {
    let event = SampleEvent(json, position: position)
    var record = event.record
    record.receivedAt = receivedAt
    var output: [UInt8] = []
    switch router.route(record, of: event.batch, into: &output) {
    case .routed(let messageID, _):
        let id = String(decoding: output[messageID], as: UTF8.self)
        let text = String(decoding: output, as: UTF8.self)
        return text.contains("\"messageId\":\"\(id)\"") ? text : "\(text) with the messageId \(id)"
    case .split(let parts):
        return parts.map { String(decoding: output[$0.json], as: UTF8.self) }.joined(separator: "\n")
    case .filtered(let reason): return "dropped by \(reason)"
    case .rejected(let reason): return "rejected: \(reason)"
    }
}

/// A track event with its required members, followed by these.
func track(_ rest: String, event: String = "Signed Up") -> String {
    #"{"type":"track","event":"\#(event)","messageId":"m","userId":"u"\#(rest.isEmpty ? "" : "," + rest)}"#
}

@Suite("Transforms of fields")
struct TransformTests {
    @Test(arguments: [
        ("[a]", #""a":1,"b":2"#, #""b":2"#), ("[b]", #""a":1,"b":2"#, #""a":1"#), ("[a, b]", #""a":1,"b":2"#, ""),
        ("[o.a]", #""o":{"a":1}"#, #""o":{}"#), ("[o.a, o.c]", #""o":{"a":1,"b":2,"c":3}"#, #""o":{"b":2}"#),
        ("[o.b, o.c]", #""o":{"a":1, "b":2 , "c":3 }"#, #""o":{"a":1 }"#),
        ("[o.a, o.b]", #""o":{ "a" : 1, "b" : 2, "c":3}"#, #""o":{ "c":3}"#),
        ("[o.a, o.b, o.c]", #""o":{"c":[{}],"a":"x,}","b":{"y":1}}"#, #""o":{}"#),
        ("[l.1]", #""l":[1,2,3]"#, #""l":[1,3]"#), ("[l.0, l.1]", #""l":[1,2]"#, #""l":[]"#),
        ("[a.b, x]", #""a":1"#, #""a":1"#), (#"[o.\"q\\]"#, #""o":{"\"q\\":1,"r":2}"#, #""o":{"r":2}"#),
    ])
    func `drop removes fields and the commas between them`(_ paths: String, _ before: String, _ after: String) throws {
        #expect(try transformed(track(before), "- drop: \(paths)") == track(after))
    }

    @Test(arguments: [
        (
            "[properties.a, properties.c.d]", #""properties":{"a":1,"b":2,"c":{"d":[3],"e":4}},"x":{"y":1}"#,
            #""properties":{"a":1,"c":{"d":[3]}},"x":{"y":1}"#
        ),
        ("[properties.z]", #""properties":{"a":1}"#, #""properties":{}"#),
        ("[properties.l.1.a]", #""properties":{"l":[{"a":1},{"a":2,"b":3}]}"#, #""properties":{"l":[{"a":2}]}"#),
        ("[properties.a.b]", #""properties":{"a":"text"}"#, #""properties":{"a":"text"}"#),
        ("[properties.a, context.b]", #""context":{"b":1,"c":2}"#, #""context":{"b":1}"#),
    ])
    func `keep removes all other fields of the objects that contain the kept fields`(
        _ paths: String, _ before: String, _ after: String
    ) throws {
        #expect(try transformed(track(before), "- keep: \(paths)") == track(after))
    }

    @Test(arguments: [
        ("{ o.a: z }", #""o":{"a":1,"b":2}"#, #""o":{"z":1,"b":2}"#),
        ("{ o.a: o.z, o.b: y }", #""o":{"a":1,"b":2}"#, #""o":{"z":1,"y":2}"#),
        ("{ o.a: b }", #""o":{"b":1,"a":2}"#, #""o":{"b":2}"#),
        ("{ o.a: b }", #""o":{"a":2,"b":1}"#, #""o":{"b":2}"#),
        ("{ o.a: b }", #""o":{"b":1}"#, #""o":{"b":1}"#),
        (#"{ o.a: new\ name\" }"#, #""o":{"a":1.50}"#, #""o":{"new name\"":1.50}"#),
        ("{ a: b }", #""a" : null"#, #""b" : null"#),
    ])
    func `rename changes a field's name and keeps its place`(
        _ names: String, _ before: String, _ after: String
    ) throws {
        #expect(try transformed(track(before), "- rename: \(names)") == track(after))
    }

    @Test
    func `an item of a list cannot be renamed`() throws {
        #expect(
            try transformed(track(#""l":[1]"#), "- rename: { l.0: b }")
                == "rejected: rename: l.0 is an item of a list, which has no name to change")
    }

    @Test(arguments: [
        ("copy: { a: b.c }", #""a":1.50e1"#, #""a":1.50e1,"b":{"c":1.50e1}"#),
        ("copy: { x: a }", #""a":1"#, #""a":1"#), ("copy: { a: b, b: a }", #""a":1,"b":2"#, #""a":2,"b":1"#),
        ("move: { o.a: p.b }", #""o":{"a":{"k":[1]}},"p":{"x":1}"#, #""o":{},"p":{"x":1,"b":{"k":[1]}}"#),
        ("move: { a: b }", #""a":1,"b":2"#, #""b":1"#), ("move: { a: b }", #""b":2"#, #""b":2"#),
    ])
    func `copy and move keep the bytes of a value`(_ transform: String, _ before: String, _ after: String) throws {
        #expect(try transformed(track(before), "- \(transform)") == track(after))
    }

    @Test(arguments: [
        (
            "to_string: [a, b, c]", #""a":12345678901234567890.10,"b":true,"c":"s""#,
            #""a":"12345678901234567890.10","b":"true","c":"s""#
        ),
        ("to_string: [a, b]", #""a":{"k":"v"},"b":null"#, #""a":"{\"k\":\"v\"}","b":null"#),
        ("to_number: [a, b]", #""a":"12345678901234567890.10","b":" 7 ""#, #""a":12345678901234567890.10,"b":7"#),
        ("to_number: [a, b, c, d]", #""a":"07","b":"1e5x","c":false,"d":null"#, #""a":"07","b":"1e5x","c":0,"d":null"#),
    ])
    func `conversions keep every digit and skip values that they cannot convert`(
        _ transform: String, _ before: String, _ after: String
    ) throws {
        #expect(try transformed(track(before), "- \(transform)") == track(after))
    }

    @Test(arguments: [
        ("[a]", #""a":"+49 30 1234567""#, #""a":"**********4567""#), ("[a]", #""a":"Zoë""#, #""a":"**ë""#),
        ("{ paths: [a], show: 0, with: x }", #""a":"\u00e9b""#, #""a":"xx""#),
        ("[a]", #""a":1234567890123"#, #""a":"*********0123""#),
        ("[a, b]", #""a":[1,2],"b":null"#, #""a":"**","b":null"#), ("[a]", #""a":"""#, #""a":"""#),
    ])
    func `mask replaces all characters except the last ones`(
        _ settings: String, _ before: String, _ after: String
    ) throws {
        #expect(try transformed(track(before), "- mask: \(settings)") == track(after))
    }

    @Test
    func `hash is the SHA-256 of the decoded text`() throws {
        // printf '%s' abc | sha256sum
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(
            try transformed(track(#""a":"abc","b":"\u0061bc","c":null"#), "- hash: [a, b, c]")
                == track(#""a":"\#(abc)","b":"\#(abc)","c":null"#))
        // The hash of an empty id would be one user for all.
        let nobody = #"{"type":"track","event":"a","messageId":"m","userId":"","anonymousId":"abc"}"#
        #expect(
            try transformed(nobody, "- hash: [userId, anonymousId]")
                == nobody.replacingOccurrences(of: #""abc""#, with: "\"\(abc)\""))
        // printf '%s' 1.50 | sha256sum
        let number = "1a60b208ff491c3e2d21cdd5abb003e51e97b072efec59098863da45021de6a9"
        #expect(try transformed(track(#""a":1.50"#), "- hash: { paths: [a] }") == track(#""a":"\#(number)""#))
    }

    @Test
    func `hash with a key is an HMAC, and a changed secret changes the configuration`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "penstock-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appending(path: "pii")
        func load(_ secret: String) throws -> Configuration {
            try Data(secret.utf8).write(to: file)
            return try configuration("- hash: { paths: [a], key: !secret pii }", secrets: directory.path)
        }
        let first = try load("pepper\n")
        let router = DestinationRouter(
            name: "out", routes: [.init(filter: .always, transforms: first.routes[0].transforms)],
            journal: [UInt8](repeating: 1, count: 16))
        // printf '%s' abc | openssl dgst -sha256 -hmac pepper
        let expected = "95ac8d48c4886bae06029b433c46c419019bf03a65a842069d84b7755b1d08c4"
        // Hashes twice, because the first use must not consume the key.
        for _ in 0..<2 { #expect(outcome(of: router, track(#""a":"abc""#)) == track(#""a":"\#(expected)""#)) }
        #expect(ConfigurationDifference(from: first, to: try load("pepper")).isEmpty)
        #expect(ConfigurationDifference(from: first, to: try load("salt")).rerouted == ["out"])
        #expect(!"\(first)".contains("pepper"))
        var dumped = ""
        dump(first, to: &dumped)
        #expect(!dumped.contains("pepper"))
    }

    @Test
    func `flatten moves the members of nested objects up`() throws {
        let before = track(#""properties":{"a":{"b":{"c":1},"d":[{"x":1}]},"e":{},"f\"":{"g":null}}"#)
        #expect(
            try transformed(before, "- flatten: {}")
                == track(#""properties":{"a_b_c":1,"a_d":[{"x":1}],"e":{},"f\"_g":null}"#))
        #expect(
            try transformed(before, "- flatten: { paths: [properties.a], separator: . }")
                == track(#""properties":{"a":{"b.c":1,"d":[{"x":1}]},"e":{},"f\"":{"g":null}}"#))
    }

    @Test
    func `flatten does not restore a value that a later duplicate replaces`() throws {
        let hidden = track(#""properties":{"d":{"secret":1,"a":1},"d":{"a":2},"b":"x","\u0062":{"c":3}}"#)
        #expect(try transformed(hidden, "- flatten: {}") == track(#""properties":{"d_a":2,"\u0062_c":3}"#))
        let names = (0..<40).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        #expect(
            try transformed(track(#""properties":{\#(names),"k1":{"x":1}}"#), "- flatten: {}")
                == track(#""properties":{\#(names.replacing(#""k1":1,"#, with: "")),"k1_x":1}"#))
    }

    @Test
    func `transforms add at most the destination's maximum event size to an event`() throws {
        let name = String(repeating: "n", count: 500)
        let members = (0..<100).map { #""m\#($0)":0"# }.joined(separator: ",")
        let nested = track(#""properties":{"\#(name)":{\#(members)}}"#)
        func outcome(_ json: String, _ yaml: String, limit: Int) throws -> String {
            RoutingTests.outcome(
                of: DestinationRouter(
                    name: "out", routes: [.init(filter: .always, transforms: try transforms(yaml))],
                    maximumEventSize: limit,
                    journal: [UInt8](repeating: 1, count: 16)), json)
        }
        let flat = try outcome(nested, "- flatten: {}", limit: 100_000)
        #expect(flat.utf8.count > 50_000)
        let refused = "rejected: flatten: transforms add more than 40000 bytes to the event (max_event_size)"
        #expect(try outcome(nested, "- flatten: {}", limit: 40_000) == refused)
        #expect(try outcome(nested, "[ { flatten: {} }, { flatten: {} } ]", limit: 40_000) == refused)
        let copies = "- copy: { properties: context.a }\n- copy: { context: properties.b }"
        #expect(
            try outcome(nested, copies, limit: 1_000)
                == "rejected: transforms add more than 1000 bytes to the event (max_event_size)")
        #expect(
            try outcome(nested, "- set: { a: 1 }", limit: 100) == nested.dropLast() + #","a":1}"#,
            "an event that arrived above the limit is not rejected")
    }

    @Test
    func `escapes in JSON do not change the result of transforms`() throws {
        let timed = track(#""context":{"timing":{"phase":"st\u006fp","duration":3}}"#)
        #expect(try transformed(timed, "- timed: ignore") == "dropped by timed")
        #expect(
            try transformed(track(#""properties":{"n":"\u0031"}"#), "- to_number: [properties.n]")
                == track(#""properties":{"n":1}"#))
        let session = track(#""context":{"session":{"id":"s"}},"properties":{"session\u005fid":"own"}"#)
        #expect(try transformed(session, "- session: properties") == session)
    }

    @Test
    func `an indexed field can have a value of any type after a transform`() throws {
        let number = #"{"type":"track","event":"A","messageId":"m","userId":"42"}"#
        let yaml =
            "- to_number: [userId]\n- { set: { hit: 1 }, where: userId = 42 }\n- { set: { none: 1 }, where: userId = null }"
        #expect(try transformed(number, yaml) == #"{"type":"track","event":"A","messageId":"m","userId":42,"hit":1}"#)
        let page = #"{"type":"page","event":"X","messageId":"m","userId":"u"}"#
        #expect(
            try transformed(page, "- { set: { hit: 1 }, where: event = 'X' and typeof(event) = 'string' }")
                == page.dropLast() + #","hit":1}"#)
        let unique = try router("- to_number: [userId]\n- dedupe: { by: userId }")
        #expect(outcome(of: unique, number, position: 1).hasPrefix("{"))
        #expect(outcome(of: unique, number, position: 2) == "dropped by dedupe")
        #expect(outcome(of: unique, number.replacing("42", with: "43"), position: 3).hasPrefix("{"))
    }

    @Test
    func `dedupe distinguishes a number from its digits as text`() throws {
        let unique = try router("- dedupe: { by: properties.k }")
        let kept = ["1", #""1""#, "1", "true", #""true""#, #""1""#].enumerated().map { position, value in
            outcome(of: unique, track(#""properties":{"k":\#(value)}"#), position: UInt64(position)).hasPrefix("{")
        }
        #expect(kept == [true, true, false, true, true, false])
    }

    @Test
    func `keep does not change lists unless it names their items`() throws {
        let before = track(#""properties":{"items":[{"sku":"a","x":1},{"sku":"b"}],"other":1}"#)
        #expect(
            try transformed(before, "- keep: [properties.items.sku]")
                == track(#""properties":{"items":[{"sku":"a","x":1},{"sku":"b"}]}"#))
        #expect(
            try transformed(before, "- keep: [properties.items.1]") == track(#""properties":{"items":[{"sku":"b"}]}"#))
    }

    @Test
    func `number literals keep their digits`() throws {
        #expect(
            try transformed(
                track(""), "- set: { properties.t: 12345678901234567890, properties.f: 1.10, properties.g: 1e3 }")
                == track(#""properties":{"t":12345678901234567890,"f":1.10,"g":1e3}"#))
    }

    @Test
    func `enrich sets only missing fields`() throws {
        let yaml =
            #"- enrich: { host: context.host.name, values: { context.site: berlin, properties.who: "{{ userId }}" } }"#
        #expect(
            try transformed(track(""), yaml)
                == track(#""context":{"site":"berlin","host":{"name":"wall"}},"properties":{"who":"u"}"#))
        let full = track(#""context":{"site":"bonn","host":{"name":"x"}},"properties":{"who":false}"#)
        #expect(try transformed(full, yaml) == full)
    }

    @Test
    func `later transforms see the changes of earlier ones`() throws {
        let yaml = """
            - rename: { properties.mail: email }
            - hash: [properties.email]
            - drop: [properties.secret]
            - name_case: camel
            - set: { properties.known: $.properties.email, properties.secret: "{{ properties.secret }}!" }
            """
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(
            try transformed(track(#""properties":{"mail":"abc","secret":1,"first_name":"x"}"#), yaml)
                == track(
                    #""properties":{"email":"\#(abc)","firstName":"x","known":"\#(abc)","secret":"!"}"#,
                    event: "signedUp"))
    }

    @Test
    func `a transform with its own where does not change other events`() throws {
        let yaml = #"[ { drop: [properties], where: event = "Gone" }, { sample: 0, where: properties.n > 1 } ]"#
        #expect(try transformed(track(#""properties":{"n":1}"#), yaml) == track(#""properties":{"n":1}"#))
        #expect(try transformed(track(#""properties":{"n":2}"#), yaml) == "dropped by sample")
        #expect(try transformed(track(#""properties":{"n":2}"#, event: "Gone"), yaml) == track("", event: "Gone"))
    }

    @Test
    func `transforms apply to all duplicates of a field`() throws {
        let twice = track(#""traits":{"email":"a","x":1},"traits":{"email":"abc","email":"b"}"#)
        #expect(try transformed(twice, "- drop: [traits.email]") == track(#""traits":{}"#))
        #expect(try transformed(twice, "- mask: [traits.email]") == track(#""traits":{"email":"*"}"#))
        #expect(
            try transformed(track(#""ip":"1.2.3.4","\u0069p":"5.6.7.8""#), "- set: { ip: none }")
                == track(#""\u0069p":"none""#))
    }
}

@Suite("The pipeline")
struct PipelineTests {
    private func outcome(
        _ json: String, pipeline: String, routes: [(filter: String, transforms: String)] = [("true", "")]
    ) throws -> String {
        let router = DestinationRouter(
            name: "out", pipeline: try transforms(pipeline),
            routes: try routes.map {
                .init(
                    filter: try Filter(parsing: $0.filter),
                    transforms: $0.transforms.isEmpty ? [] : try transforms($0.transforms))
            }, journal: [UInt8](repeating: 1, count: 16))
        return RoutingTests.outcome(of: router, json)
    }

    @Test
    func `routes see the event after the pipeline, and dropped events count under their transform`() throws {
        #expect(
            try outcome(track(""), pipeline: "- set: { event: Joined }", routes: [("event = 'Joined'", "")])
                == track("", event: "Joined"))
        #expect(
            try outcome(track(""), pipeline: "- name_case: snake", routes: [("event = 'Signed Up'", "")])
                == "dropped by no_route")
        #expect(try outcome(track(""), pipeline: "- sample: 0") == "dropped by sample")
        #expect(
            try outcome(track(#""integrations":{"All":true}"#), pipeline: "- set: { integrations.All: false }")
                == "dropped by integrations")
    }

    @Test
    func `the pipeline runs before the route's transforms, and a missing message id is added at the end`() throws {
        let bare = #"{"type":"track","event":"A","userId":"u"}"#
        let id = MessageID.derived(journal: [UInt8](repeating: 1, count: 16), position: 7)
        #expect(
            try outcome(bare, pipeline: "- set: { a: 1 }", routes: [("a = 1", "- to_string: [a]")])
                == #"{"type":"track","event":"A","userId":"u","a":"1","messageId":"\#(id)"}"#)
        #expect(
            try outcome(bare, pipeline: "- redact: {}")
                == #"{"type":"track","event":"A","userId":"u","messageId":"\#(id)"}"#)
    }
}
