import Control
import TestSupport
import Testing

/// A destination keeps its name while its kind changes. Its position in the journal continues. The state that the old
/// kind kept is discarded.
@Suite struct KindChangeTests {
    enum Way: CaseIterable, Sendable { case reload, restart, kill }

    private func change(_ daemon: TestDaemon, by way: Way, to destination: String) throws {
        try daemon.write(configuration: configuration(destination))
        switch way {
        case .reload:
            let report = try daemon.reload()
            #expect(report.applied, "\(report.errors)")
        case .restart:
            #expect(daemon.terminate() == 0)
            try daemon.start()
        case .kill:
            daemon.kill9()
            try daemon.start()
        }
    }

    private func configuration(_ destination: String) -> String {
        """
        routes: [ { to: [store] } ]
        destinations: { store: \(destination) }
        """
    }

    private func send(_ numbers: Range<Int>, to daemon: TestDaemon) throws {
        let client = try EventClient(daemon)
        try client.send(events(numbers))
        #expect(try client.acknowledgement(of: numbers.count).lines == numbers.count)
    }

    @Test(arguments: Way.allCases)
    func `events that a service did not accept are written to the file`(way: Way) throws {
        let receiver = try HTTPReceiver([.status(503)])
        let http = "{ http: \"\(receiver.url)\", format: ndjson, retry: { initial: 10ms, max: 50ms } }"
        let daemon = try TestDaemon(configuration: configuration(http))
        try daemon.start()
        try send(0..<100, to: daemon)
        try eventually("the destination is retrying") { try daemon.status().destinations["store"]?.state == .retrying }
        try change(daemon, by: way, to: "{ file: store.ndjson }")
        try send(100..<200, to: daemon)
        try daemon.settle()
        #expect(daemon.lines("store.ndjson").compactMap(number) == Array(0..<200))
        #expect(try daemon.status().destinations["store"]?.state == .up)
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: Way.allCases) func `a destination may change from plugin to file and back`(way: Way) throws {
        let plugin = "{ plugin: sqlite, settings: { path: DIRECTORY/rows.db } }"
        let daemon = try TestDaemon(configuration: configuration(plugin))
        try daemon.start()
        try send(0..<100, to: daemon)
        try daemon.settle()
        // The plugin keeps its position with its data. An orderly stop saves the cursor, too.
        try change(daemon, by: way, to: "{ file: store.ndjson }")
        try send(100..<200, to: daemon)
        try daemon.settle()
        let inFile = daemon.lines("store.ndjson").compactMap(number)
        // After kill -9, the cursor may be behind the plugin's position.
        #expect(inFile.suffix(100) == Array(100..<200))
        if way != .kill { #expect(inFile.count == 100) }

        try change(daemon, by: way, to: plugin)
        try send(200..<300, to: daemon)
        try daemon.settle()
        let rows = try daemon.sqlite("rows.db", "SELECT message_id FROM events ORDER BY position")
            .compactMap { Int($0.dropFirst(2)) }
        #expect(rows.prefix(100) == Array(0..<100)[...])
        #expect(rows.suffix(100) == Array(200..<300)[...])
        if way != .kill { #expect(rows.count == 200, "the plugin did not get the file's events") }
        #expect(daemon.log.contains("went back") == false)
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: Way.allCases) func `a file is continued after its destination had another kind`(way: Way) throws {
        let receiver = try HTTPReceiver()
        let daemon = try TestDaemon(configuration: configuration("{ file: store.ndjson }"))
        try daemon.start()
        try send(0..<100, to: daemon)
        try daemon.settle()
        try change(daemon, by: way, to: "{ http: \"\(receiver.url)\", format: ndjson, batch: { wait: 0s } }")
        try send(100..<200, to: daemon)
        try daemon.settle()
        try change(daemon, by: way, to: "{ file: store.ndjson }")
        try send(200..<300, to: daemon)
        try daemon.settle()
        let inFile = daemon.lines("store.ndjson").compactMap(number)
        #expect(inFile.suffix(100) == Array(200..<300)[...])
        #expect(inFile.prefix(100) == Array(0..<100)[...])
        if way != .kill { #expect(inFile.count == 200) }
        #expect(Set(receiver.events.compactMap(number)).isSuperset(of: 100..<200))
        #expect(daemon.terminate() == 0)
    }
}
