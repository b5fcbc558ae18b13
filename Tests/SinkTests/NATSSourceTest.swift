import Foundation
import PluginTesting
import Testing

/// A server with a stream, and sources that read it in this process.
struct NATSSourceTest {
    static let consumer = "penstock"

    let servers: NATSServers
    let client: NATSClient
    var journal = LaneJournal()

    /// - Parameter subject: of the stream S; nil: there is no stream.
    init(_ servers: NATSServers? = nil, subject: String? = "e") throws {
        self.servers = try servers ?? NATSServers()
        client = try NATSClient(self.servers)
        if let subject { try client.create("S", subject) }
    }

    /// A JSON object.
    func settings(_ more: String = "") -> String {
        #"{"servers":\#(servers.urls),"stream":"S","consumer":"\#(Self.consumer)","connect_timeout":"1s"\#(more)}"#
    }

    /// A source that is created.
    func stage(
        _ more: String = "", journal: LaneJournal? = nil, _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        let plugin = unsafe try SourceStage.load(try TestCompiler.built("libpenstock-nats.so"))
        return unsafe try SourceStage(plugin, settings: settings(more), journal: journal ?? self.journal, configure)
    }

    /// A source that reads.
    func open(
        _ more: String = "", journal: LaneJournal? = nil, isHeld: Bool = false,
        _ configure: (inout SourceStage.Options) -> Void = { _ in }
    ) throws -> SourceStage {
        let stage = try stage(more, journal: journal, configure)
        if isHeld { stage.hold() }
        try stage.connect()
        try stage.start()
        return stage
    }

    /// Waits until the journal has so many events.
    func waitFor(_ count: Int, _ stage: SourceStage, in journal: LaneJournal? = nil) {
        let journal = journal ?? self.journal
        let isThere = pluginEventually { journal.count >= count }
        #expect(
            isThere,
            """
            \(journal.count) of \(count) events; \(stage.problem ?? "no problem"); lanes \(stage.openLanes);
            \(stage.log.suffix(5))
            """)
    }

    /// Waits until the consumer has forgotten everything up to a sequence.
    func waitForFloor(_ sequence: UInt64, _ consumer: String = Self.consumer) {
        let expected = NATSClient.Consumer(floor: sequence, delivered: sequence, pending: 0)
        let isThere = pluginEventually { client.consumer("S", consumer) == expected }
        #expect(isThere, "\(String(describing: client.consumer("S", consumer)))")
    }

    static func events(_ numbers: Range<Int>) -> [String] { numbers.map { #"{"n":\#($0)}"# } }
}
