import Destinations
import Delivery
import Foundation
import Ingest
import Platform
import PluginHosting
import PluginSources
import PluginTesting
import Testing

/// A source plugin that does what it should not: only its own process ends, and it is started again.
@Suite struct MisbehaviourTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addCounting()
    }

    private static let functions = ["create", "connect", "start", "durable", "thread"]

    @Test(arguments: functions, ["segfault", "exit"])
    func `a plugin that ends its process is started again`(function: String, way: String) throws {
        let stage = try SourceStage(#"{"mode":"\#(way)_\#(function)","events":100000}"#, in: directory) {
            $0.window = 5000
        }
        #expect(pluginEventually { stage.source.status.restarts >= 3 })
        let words = way == "exit" ? "exited with status 0" : "SIGSEGV"
        #expect(stage.reason?.contains(words) == true, "\(stage.reason ?? "")")
    }

    @Test(arguments: ["create", "connect", "start", "durable"])
    func `a plugin that does not return is ended at the deadline`(function: String) throws {
        let stage = try SourceStage(#"{"mode":"hang_\#(function)","events":100000}"#, in: directory) {
            $0.window = 5000
            $0.deadline = .milliseconds(300)
        }
        #expect(pluginEventually { stage.source.status.restarts >= 2 })
        #expect(stage.reason?.contains("did not return within") == true, "\(stage.reason ?? "")")
    }

    @Test(arguments: ["segfault", "exit", "hang"], ["stop", "destroy"])
    func `a plugin that fails to stop is ended in time`(way: String, function: String) throws {
        let stage = try SourceStage(#"{"mode":"\#(way)_\#(function)","events":100}"#, in: directory) {
            $0.deadline = .seconds(5)
        }
        #expect(pluginEventually { stage.counter("durable") == 10 })
        let start = SystemClock().now()
        // The deadline of a call ends it, long before that of the stop.
        stage.stop(within: .seconds(60))
        #expect(SystemClock().now() - start < .seconds(30))
        #expect(stage.source.status.state == .stopped)
        #expect(stage.hasAll(lanes: 1, events: 100))
    }

    @Test(arguments: ["segfault", "exit", "hang"])
    func `a plugin that fails when there is room loses nothing`(way: String) throws {
        let journal = LaneJournal()
        let stage = try SourceStage(
            #"{"mode":"\#(way)_ready","events":200,"size":100}"#, in: directory, journal: journal
        ) {
            $0.window = 6000
            $0.deadline = .milliseconds(500)
        }
        #expect(pluginEventually { stage.source.status.restarts >= 2 })
        #expect(pluginEventually { journal.count >= 200 })
        #expect(stage.hasAll(lanes: 1, events: 200))
    }

    @Test(arguments: [
        "raw_garbage", "raw_short", "raw_name", "raw_length", "raw_count", "raw_complete", "raw_reply", "raw_lane",
        "raw_long", "raw_until", "raw_early", "raw_window",
    ])
    func `a message that the protocol does not allow ends the process`(mode: String) throws {
        let stage = try SourceStage(#"{"mode":"\#(mode)"}"#, in: directory)
        #expect(pluginEventually { stage.source.status.restarts >= 2 })
        let reason = stage.reason ?? ""
        // An offer that the plugin host did not make ends it when the offer is stored, which may come first.
        let isEndedByHost = mode == "raw_window" && reason.contains("exited with status 70")
        #expect(isEndedByHost || reason.contains("a message that the protocol does not allow"), "\(reason)")
        #expect(stage.journal.entries.isEmpty)
    }

    @Test func `a plugin that gives up is started again, at its stored positions`() throws {
        let stage = try SourceStage(#"{"mode":"gives_up","events":1000}"#, in: directory)
        #expect(pluginEventually { stage.source.status.restarts >= 3 && stage.journal.count >= 1000 })
        #expect(stage.reason == "the plugin gave up: the stream?is gone")
        #expect(stage.hasAll(lanes: 1, events: 1000))
    }

    @Test func `a connection that fails is tried again in the same process`() throws {
        let stage = try SourceStage(#"{"mode":"connect_fails_twice"}"#, in: directory)
        #expect(pluginEventually { stage.counter("durable") == 1 })
        #expect(stage.counter("connects") == 3)
        #expect(stage.source.status.restarts == 0)
        #expect(stage.source.status.state == .up)
        #expect(stage.source.status.lastError == "the plugin counting cannot connect: nobody answers")
    }

    @Test(arguments: [
        ("create_fails", "cannot create an instance of the plugin counting: the moon is in the wrong phase"),
        ("connect_fails", "the plugin counting cannot connect: nobody answers"),
        ("start_fails", "the plugin counting cannot start: the stream is unknown"),
        ("no_start", "leaves out start, durable, stop or destroy"),
    ])
    func `a plugin that cannot start says why`(mode: String, words: String) throws {
        let stage = try SourceStage(#"{"mode":"\#(mode)"}"#, in: directory)
        #expect(pluginEventually { stage.reason?.contains(words) == true })
        #expect(pluginEventually { if case .failing = stage.source.status.state { true } else { false } })
        stage.stop()
        #expect(stage.source.status.state == .stopped)
    }

    @Test func `settings that do not match the schema are an error that names them`() throws {
        let stage = try SourceStage(#"{"lanes":17,"event":1}"#, in: directory)
        #expect(pluginEventually { stage.reason != nil })
        let reason = stage.reason ?? ""
        #expect(reason.contains("settings.lanes: must be at most 16"), "\(reason)")
        #expect(reason.contains("did you mean \"events\"?"), "\(reason)")
    }

    @Test func `a sink cannot be a source`() throws {
        try directory.addMisbehaving()
        let stage = try SourceStage("{}", in: directory, plugin: "misbehaving")
        #expect(pluginEventually { stage.reason?.contains("is a sink alone") == true })
        #expect(stage.source.status.plugin == nil)
    }

    @Test(arguments: PluginDestinationOptions.Isolation.allCases)
    func `a source cannot be a destination`(isolation: PluginDestinationOptions.Isolation) throws {
        let stage = try PluginStage("counting", in: directory, isolation: isolation)
        let error = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(error?.description.contains("is a source alone") == true, "\(String(describing: error))")
    }

    @Test func `a source with an invalid table is an error`() throws {
        try directory.addCounting("SHORT_SOURCE")
        let stage = try SourceStage("{}", in: directory)
        #expect(pluginEventually { stage.reason?.contains("sizeof(penstock_source)") == true })
    }

    @Test func `a plugin that is missing is found once it is installed`() throws {
        let empty = try PluginTestDirectory()
        let stage = try SourceStage("{}", in: empty)
        #expect(pluginEventually { stage.reason?.contains("there is no plugin") == true })
        try empty.addCounting()
        #expect(pluginEventually { stage.counter("durable") == 1 })
    }

    @Test func `a plugin without faults passes the conformance run`() throws {
        let verdicts = try conform(#"{"lanes":2,"events":1000,"batch":10}"#)
        #expect(verdicts.count == 9)
        #expect(verdicts.allSatisfy { $0.value == .passed }, "\(verdicts)")
    }

    @Test(arguments: [
        ("segfault_stop", "stop", "SIGSEGV"), ("hang_destroy", "destroy", "did not return within"),
        ("exit_connect", "connect", "exited with status 0"), ("hang_durable", "start with no", "did not return within"),
        ("segfault_ready", "a full window", "SIGSEGV"), ("raw_short", "start with no", "does not allow"),
        ("gives_up", "start with no", "gave up"), ("forgets", "start at a stored", "another event"),
    ])
    func `a plugin with a fault fails the check of it`(mode: String, check: String, words: String) throws {
        // Each call that hangs lasts for the whole deadline.
        let deadline: Duration = mode.hasPrefix("hang_") ? .seconds(3) : .seconds(20)
        let failures = try conform(#"{"mode":"\#(mode)","events":40,"batch":10}"#, deadline: deadline).filter {
            if case .failed(let reason) = $0.value { $0.key.contains(check) && reason.contains(words) } else { false }
        }
        #expect(!failures.isEmpty)
    }

    private func conform(
        _ settings: String, deadline: Duration = .seconds(20)
    ) throws -> [String: ConformanceChecks.Verdict] {
        let run = SourceConformance(
            of: "\(directory.path)/libcounting.so", settings: settings, deadline: deadline,
            program: try TestCompiler.built("penstock-plugin-host"))
        try run.validateSettings()
        var verdicts: [String: ConformanceChecks.Verdict] = [:]
        let conforms = run.run { verdicts[$0] = $1 }
        #expect(conforms == verdicts.values.allSatisfy { if case .failed = $0 { false } else { true } })
        return verdicts
    }

    @Test func `an inspection shows what a plugin is`() throws {
        let program = try TestCompiler.built("penstock-plugin-host")
        let source = try PluginInspection(of: "\(directory.path)/libcounting.so", program: program)
        #expect(source.roles.map(\.role) == [.source])
        #expect(source.roles.first?.needs == "")
        #expect(source.roles.first?.schema?.contains("lanes") == true)
        let both = try PluginInspection(of: directory.addCounting("BOTH"), program: program)
        #expect(both.roles.map(\.role) == [.sink, .source])
        #expect(both.roles.map(\.needs) == ["network", ""])
    }
}
