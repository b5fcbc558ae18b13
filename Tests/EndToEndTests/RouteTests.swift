import Control
import Testing

/// The events that a destination gets, and its start.
@Suite struct RouteTests {
    @Test func `a destination starts at its configured start`() throws {
        let archive = "archive: { file: archive.ndjson }"
        let daemon = try TestDaemon(configuration: "routes: [ { to: [archive] } ]\ndestinations: { \(archive) }")
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(events(0..<10))
        #expect(try client.acknowledgement(of: 10).lines == 10)
        // All receive times of the first lot are before the second lot.
        try daemon.settle()
        try daemon.write(
            configuration: """
                routes: [ { to: [archive, all, since, new] } ]
                destinations:
                  \(archive)
                  all: { file: all.ndjson, start: earliest }
                  since: { file: since.ndjson, start: 2001-01-01T00:00:00Z }
                  new: { file: new.ndjson }
                """)
        let reload = try daemon.reload()
        #expect(reload.applied, "\(reload.errors)")
        try client.send(events(10..<20))
        #expect(try client.acknowledgement(of: 20).lines == 20)
        try daemon.settle()
        #expect(daemon.lines("archive.ndjson").compactMap(number) == Array(0..<20))
        #expect(daemon.lines("all.ndjson").compactMap(number) == Array(0..<20))
        #expect(daemon.lines("since.ndjson").compactMap(number) == Array(0..<20))
        #expect(daemon.lines("new.ndjson").compactMap(number) == Array(10..<20))

        // The start applies only once: after a restart, each destination continues at its cursor.
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try daemon.settle()
        #expect(daemon.lines("all.ndjson").count == 20)
        #expect(daemon.terminate() == 0)
    }

    @Test func `integrations narrow what the routes allow`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes:
                  - { to: [one, two] }
                  - { where: event = "Special", to: [three] }
                destinations: { one: { file: one.ndjson }, two: { file: two.ndjson }, three: { file: three.ndjson } }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        let wishes = [
            #"{}"#, #"{"All":true}"#, #"{"All":false}"#, #"{"All":false,"one":true}"#, #"{"one":false}"#,
            #"{"All":false,"three":true}"#, #"{"two":{"option":1},"All":false}"#,
        ]
        for (index, wish) in wishes.enumerated() {
            try client.send(event(index, fields: #","integrations":\#(wish)"#) + "\n")
        }
        #expect(try client.acknowledgement(of: wishes.count).lines == wishes.count)
        try daemon.settle()
        #expect(daemon.lines("one.ndjson").compactMap(number) == [0, 1, 3])
        #expect(daemon.lines("two.ndjson").compactMap(number) == [0, 1, 4, 6])
        #expect(daemon.lines("three.ndjson").compactMap(number) == [], "integrations never widen what the routes allow")
        let status = try daemon.status()
        #expect(status.destinations["one"]?.filtered == 4)
        #expect(status.destinations["one"]?.delivered == 3)
        #expect(daemon.terminate() == 0)
    }

    @Test func `an event of two routes reaches their destination once, with the first route's transforms`() throws {
        let daemon = try TestDaemon(
            configuration: """
                routes:
                  - { name: special, where: event = "Special", transforms: [ { set: { context.way: first } } ], to: [archive] }
                  - { name: all, transforms: [ { set: { context.way: second } } ], to: [archive, other] }
                destinations:
                  archive: { file: archive.ndjson, transforms: [ { set: { context.last: archive } } ] }
                  other: { file: other.ndjson, where: event != "Special" }
                """)
        try daemon.start()
        let client = try EventClient(daemon)
        try client.send(event(1, name: "Special") + "\n" + event(2) + "\n")
        #expect(try client.acknowledgement(of: 2).lines == 2)
        try daemon.settle()
        let lines = daemon.lines("archive.ndjson")
        #expect(lines.compactMap(number) == [1, 2])
        let ways = lines.map { (jsonObject($0)?["context"] as? [String: Any])?["way"] as? String }
        #expect(ways == ["first", "second"])
        #expect(lines.allSatisfy { $0.contains(#""last":"archive""#) })
        #expect(daemon.lines("other.ndjson").compactMap(number) == [2])
        #expect(daemon.terminate() == 0)
    }
}
