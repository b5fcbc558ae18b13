import Delivery
import PluginHosting
import PluginTesting
import Synchronization
import Testing

@testable import Destinations

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

    // MARK: A store that is ahead of the journal

    private struct DiskFailure: Error {}

    private func stage(position: Int, _ bound: FakeBound) throws -> PluginStage {
        try PluginStage(in: directory, settings: #"{"mode":"plain","position":\#(position)}"#, bound: bound)
    }

    @Test(
        arguments: [
            (nil, 0, false), (nil, 1000, false), (0, 0, true), (0, 1, false), (998, 1000, false), (999, 1000, false),
            (1000, 1000, true), (1499, 1000, true), (.max - 1, 1000, true), (.max - 1, .max, false),
        ] as [(UInt64?, UInt64, Bool)])
    func `a position that the journal has not reached is ahead`(durable: UInt64?, end: UInt64, isAhead: Bool) {
        for cursor in [0, 500, 1000] as [UInt64] {
            for state in [[], durable.map(ResumePoint.state) ?? []] {
                let resume = ResumePoint(
                    cursor: Cursor(position: min(cursor, end), state: state), durable: durable, end: end)
                #expect(resume.ahead == (isAhead ? durable : nil))
                if isAhead { #expect(resume.start == nil && resume.heldThrough == nil && resume.wentBackFrom == nil) }
            }
        }
    }

    @Test func `a store that is ahead is not opened, and new events and restarts do not change that`() throws {
        let bound = FakeBound(end: 1000)
        var stage = try stage(position: 1499, bound)
        for _ in 0..<3 {
            for end in [1200, 1600] as [UInt64] {
                bound.grow(to: end)
                let error = #expect(throws: PluginError.self) {
                    try stage.destination.open(from: Cursor(position: 990))
                }
                let text = error?.description ?? ""
                #expect(text.contains("it has events up to position 1499, but the journal ended at position 1000"))
                #expect(text.contains("Set another table (redis: another settings.position_key)"))
                #expect(text.contains("the events of positions 990 to 1000 (exclusive) may be stored twice"))
            }
            stage.destination.close()
            bound.restart(at: 1600)
            stage = try self.stage(position: 1499, bound)
        }
        #expect(bound.verifications == 0)
        // Another table has no position.
        let other = try self.stage(position: -1, bound)
        #expect(try other.destination.open(from: Cursor(position: 990)) == nil)
        #expect(other.outcomes(other.offer([1000, 1001]), count: 2) == [.delivered, .delivered])
        #expect(bound.verifications == 1)
    }

    @Test func `a store that was down through many starts opens normally`() throws {
        let bound = FakeBound(end: 1000)
        for end in stride(from: 1000 as UInt64, to: 3000, by: 500) { bound.restart(at: end) }
        let stage = try stage(position: 999, bound)
        #expect(try stage.destination.open(from: Cursor(position: 900)) == nil)
        #expect(stage.outcomes(stage.offer([999, 1000]), count: 2) == [.delivered, .delivered])
        #expect(stage.destination.metrics.gauges["first_position"] == 1000)
    }

    @Test func `a store is compared with the end of now once it has been verified`() throws {
        let bound = FakeBound(end: 1000)
        let stage = try stage(position: 999, bound)
        _ = try stage.destination.open(from: Cursor(position: 1000))
        stage.destination.close()
        bound.grow(to: 1500)
        let later = try self.stage(position: 1499, bound)
        _ = try later.destination.open(from: Cursor(position: 1000))
        // A failover to a store of another journal's copy.
        let foreign = try self.stage(position: 1700, bound)
        #expect(throws: PluginError.self) { try foreign.destination.open(from: Cursor(position: 1000)) }
        bound.grow(to: 2000)
        #expect(throws: PluginError.self) { try foreign.destination.open(from: Cursor(position: 1000)) }
    }

    @Test func `a destination is not opened while its verification cannot be stored`() throws {
        let bound = FakeBound(end: 1000)
        bound.state.withLock { $0.error = DiskFailure() }
        let stage = try stage(position: 12, bound)
        #expect(throws: DiskFailure.self) { try stage.destination.open(from: Cursor(position: 10)) }
        bound.state.withLock { $0.error = nil }
        _ = try stage.destination.open(from: Cursor(position: 10))
        #expect(stage.outcomes(stage.offer([12, 13]), count: 2) == [.delivered, .delivered])
    }
}
