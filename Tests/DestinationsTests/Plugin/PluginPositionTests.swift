import Delivery
import Destinations
import PluginHosting
import PluginTesting
import Testing

/// `penstock.position/1`: where delivery resumes for a plugin that keeps its position itself.
@Suite struct PluginPositionTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addMisbehaving()
    }

    private func stage(position: Int) throws -> PluginStage {
        try PluginStage(in: directory, settings: #"{"mode":"plain","position":\#(position)}"#)
    }

    /// The state that a checkpoint keeps with the cursor when the plugin is at `position`.
    private func state(at position: Int) throws -> [UInt8] {
        let before = try stage(position: position)
        _ = try before.destination.open(from: Cursor(position: 0))
        return try #require(try before.destination.checkpoint())
    }

    @Test func `events that the plugin already holds are not offered again`() throws {
        let stage = try stage(position: 12)
        #expect(try stage.destination.open(from: Cursor(position: 10)) == nil)
        #expect(stage.outcomes(stage.offer([10, 11]), count: 2) == [.delivered, .delivered])
        #expect(stage.destination.metrics.counters["offers"] == nil)

        #expect(stage.outcomes(stage.offer([12, 13, 14]), count: 3) == [.delivered, .delivered, .delivered])
        #expect(stage.destination.metrics.gauges["first_position"] == 13)
        #expect(stage.destination.metrics.counters["whole_payloads"] == 2)
    }

    @Test func `a plugin that received nothing since the checkpoint resumes at the cursor`() throws {
        let state = try state(at: 12)
        let stage = try stage(position: 12)
        #expect(try stage.destination.open(from: Cursor(position: 5000, state: state)) == nil)
        #expect(stage.outcomes(stage.offer([5000]), count: 1) == [.delivered])
        #expect(stage.destination.metrics.gauges["first_position"] == 5000)
        #expect(stage.count("plugin_store_went_back") == 0)
    }

    /// A failover to a replica that lacks the last events, for example.
    @Test func `a lost connection opens the destination again, at the position that the plugin has then`() throws {
        let stage = try PluginStage(in: directory, settings: #"{"mode":"goes_back","position":300}"#)
        #expect(try stage.destination.open(from: Cursor(position: 310)) == nil)
        let state = try #require(try stage.destination.checkpoint())
        #expect(stage.outcomes(stage.offer([310]), count: 1) == [.delivered])
        let lost = stage.offer([311])
        #expect(stage.outcomes(lost, count: 1) == [.retry(reason: "the plugin gave no reason")])
        #expect(stage.destination.failure == "the plugin gave no reason")
        #expect(throws: PluginError.self) { try stage.destination.checkpoint() }
        stage.destination.close()
        #expect(try stage.destination.open(from: Cursor(position: 310, state: state)) == nil)
        #expect(stage.destination.failure == nil)
    }

    @Test func `delivery resumes at the plugin's position if it went back`() throws {
        let state = try state(at: 300)
        let stage = try stage(position: 250)
        #expect(try stage.destination.open(from: Cursor(position: 310, state: state)) == 251)
        #expect(stage.count("plugin_store_went_back") == 1)
        #expect(stage.outcomes(stage.offer([251, 252]), count: 2) == [.delivered, .delivered])
        #expect(stage.destination.metrics.gauges["first_position"] == 251)
    }

    @Test func `delivery to a new store continues at the cursor and is counted`() throws {
        let state = try state(at: 300)
        let stage = try stage(position: -1)
        #expect(try stage.destination.open(from: Cursor(position: 310, state: state)) == nil)
        #expect(stage.count("plugin_store_went_back") == 1)
    }

    @Test func `a plugin without data keeps no state with the cursor`() throws {
        let stage = try stage(position: -1)
        #expect(try stage.destination.open(from: Cursor(position: 3)) == nil)
        #expect(try stage.destination.checkpoint() == nil)
    }
}
