import Delivery
import Destinations
import Events
import Foundation
import Platform
import PluginHosting
import PluginTesting
import Testing

/// A plugin that does in its own process what would end or stop this one.
@Suite struct PluginProcessTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addMisbehaving()
    }

    private func open(
        _ mode: String, deadline: Duration = .seconds(60), adjust: (inout PluginDestinationOptions) -> Void = { _ in }
    ) throws -> PluginStage {
        let stage = try PluginStage(
            in: directory, settings: #"{"mode":"\#(mode)"}"#, deadline: deadline, adjust: adjust)
        #expect(opens(stage))
        return stage
    }

    /// Opens the destination, again if the process did not start within a short deadline: the machine may be busy.
    private func opens(_ stage: PluginStage) -> Bool {
        pluginEventually {
            do {
                return try stage.destination.open(from: Cursor(position: 0)) == nil
            } catch {
                stage.destination.close()
                return false
            }
        }
    }

    /// Does what a worker does when a destination has failed: closes it, which settles what it holds, and opens it.
    private func reopen(_ stage: PluginStage, holding batches: [Int] = []) throws {
        #expect(pluginEventually { stage.destination.failure != nil })
        #expect(throws: PluginError.self) { try stage.destination.checkpoint() }
        // What is offered now is not lost.
        let late = stage.offer([9])
        #expect(batches.allSatisfy { stage.answers($0).isEmpty })
        stage.destination.close()
        for batch in batches + [late] {
            guard stage.answers(batch).count == 1, case .all(.retry)? = stage.answers(batch).first else {
                Issue.record("not retried once: \(stage.answers(batch))")
                continue
            }
        }
        #expect(opens(stage))
        #expect(stage.destination.failure == nil)
    }

    /// The deadline of a batch is a second before that of the call that offers it. On a busy machine, the later one may
    /// be noticed first.
    private func isEndedAtDeadline(_ stage: PluginStage) -> Bool {
        let failure = stage.destination.failure ?? ""
        return failure == "the plugin did not settle a batch before its deadline"
            || failure.contains("the plugin did not return within")
    }

    @Test(arguments: [
        ("segfault", "SIGSEGV"), ("aborts", "SIGABRT"), ("exits", "exited with status 0"),
        ("closes_all", "the plugin's process"), ("sends_garbage", "a message that the protocol does not allow"),
        ("long_log", "a message that the protocol does not allow"),
        ("writes_batch", "SIGSEGV"),
    ])
    func `a plugin that ends its process costs only a retry, ten times over`(mode: String, words: String) throws {
        let stage = try open(mode)
        for _ in 0..<10 {
            let batch = stage.offer([1, 2])
            #expect(pluginEventually { stage.destination.failure != nil })
            let failure = try #require(stage.destination.failure)
            #expect(failure.contains(words), "\(failure)")
            try reopen(stage, holding: [batch])
        }
        stage.destination.close()
    }

    @Test(arguments: ["loops", "deadlocks"])
    func `a plugin that does not return is ended at the deadline, ten times over`(mode: String) throws {
        let stage = try open(mode, deadline: .milliseconds(300))
        for _ in 0..<10 {
            let batch = stage.offer([1, 2])
            #expect(pluginEventually { stage.destination.failure != nil })
            #expect(isEndedAtDeadline(stage), "\(stage.destination.failure ?? "")")
            try reopen(stage, holding: [batch])
        }
        stage.destination.close()
    }

    @Test func `a plugin that keeps a batch past its deadline is replaced`() throws {
        let stage = try open("keep", deadline: .milliseconds(300))
        for _ in 0..<3 {
            let batch = stage.offer([1, 2])
            #expect(pluginEventually { stage.destination.failure != nil })
            #expect(isEndedAtDeadline(stage), "\(stage.destination.failure ?? "")")
            try reopen(stage, holding: [batch])
        }
        // A fresh process holds nothing. On a busy machine, the short deadline may pass before it is asked to flush:
        // then the next process is asked.
        var batch = stage.offer([3, 4])
        let isSettled = pluginEventually {
            _ = try? stage.destination.checkpoint()
            if !stage.answers(batch).isEmpty { return true }
            guard stage.destination.failure != nil else { return false }
            stage.destination.close()
            if opens(stage) { batch = stage.offer([3, 4]) }
            return false
        }
        #expect(isSettled)
        stage.destination.close()
        #expect(stage.answers(batch).count == 1)
    }

    @Test func `a plugin cannot send signals to other processes, fork, or start a program`() throws {
        let stage = try open("kills")
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.destination.metrics.counters["refused"] == 1)
        #expect(stage.destination.metrics.counters["allowed"] == nil)
    }

    /// Landlock protects the memory of other processes, where the kernel has it.
    @Test(.enabled(if: TestKernel.hasLandlock, "the kernel has no Landlock"))
    func `a plugin cannot open the memory of the daemon`() throws {
        let stage = try open("kills")
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(stage.destination.metrics.counters["memory_hidden"] == 1)
    }

    @Test(arguments: [
        ("PLAIN", [1.0, 1, 1]), ("NEEDS_NETWORK", [1, 1, 1]), ("NEEDS_UNIX", [0, 0, 1]), ("NEEDS_NOTHING", [0, 0, 0]),
    ])
    func `a plugin may use what it says that it needs`(variant: String, allowed: [Double]) throws {
        try directory.addMisbehaving(variant)
        let stage = try open("uses")
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        let gauges = stage.destination.metrics.gauges
        #expect(["inet", "netlink", "unix"].map { gauges[$0] } == allowed)
        #expect(gauges["raises_limits"] == 0)
        #expect(gauges["shares_memory"] == 0)
        #expect(gauges["changes_modes"] == (variant == "PLAIN" ? 1 : 0))
        #expect(gauges["reads_usr"] == 1)
        if TestKernel.hasLandlock, geteuid() == 0 { #expect(gauges["reads_home"] == (variant == "PLAIN" ? 1 : 0)) }
    }

    @Test func `a plugin that leaks is ended at its limit, and the reason names it`() throws {
        let stage = try open("leaks") { $0.limits.memory = 64 << 20 }
        for _ in 0..<10 {
            let batch = stage.offer([1])
            #expect(pluginEventually { stage.destination.failure != nil })
            let failure = try #require(stage.destination.failure)
            // How much it had cannot be known if this process once had more.
            let end = "the plugin's process was ended by SIGABRT, "
            let hints = ["after it had used ", "perhaps for want of memory: "]
            #expect(hints.contains { failure.hasPrefix(end + $0) }, "\(failure)")
            #expect(failure.hasSuffix(" limits.memory (64.0 MiB)"), "\(failure)")
            try reopen(stage, holding: [batch])
        }
    }

    @Test func `a plugin does not count as large because this process is`() throws {
        // The kernel counts the memory of the process that starts it.
        let size = 100 << 20
        let memory = [UInt8](repeating: 1, count: size)
        let stage = try open("segfault") { $0.limits.memory = 64 << 20 }
        #expect(memory.last == 1)
        _ = stage.offer([1])
        #expect(pluginEventually { stage.destination.failure != nil })
        let failure = try #require(stage.destination.failure)
        #expect(!failure.contains("after it had used"), "\(failure)")
    }

    @Test func `a plugin that uses more processor time than its limit is ended, while it is idle`() throws {
        let stage = try open("spins") { $0.limits.processors = 0.05 }
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        #expect(pluginEventually { stage.destination.failure != nil })
        #expect(
            stage.destination.failure == "the plugin used more processor time than limits.cpu permits (0.05)")
        try reopen(stage)
    }

    @Test func `a plugin opens no more files than its limit`() throws {
        let stage = try open("opens_files") { $0.limits.openFiles = 32 }
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        let opened = try #require(stage.destination.metrics.gauges["opened"])
        #expect(opened > 8 && opened < 32, "\(opened)")
    }

    @Test func `a plugin that settles a batch and does not return is ended`() throws {
        let stage = try open("settles_and_hangs", deadline: .seconds(5))
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        try reopen(stage)
    }

    @Test func `much text on standard error blocks nothing`() throws {
        let stage = try open("prints_much")
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
    }

    @Test func `a plugin that completes batches it does not own settles none of them`() throws {
        let stage = try open("completes_all")
        let batch = stage.offer([1, 2])
        #expect(pluginEventually { !stage.answers(batch).isEmpty })
        #expect(
            stage.outcomes(batch, count: 2)
                == [Outcome](repeating: .retry(reason: "the plugin reported no outcome for the event"), count: 2))
        #expect(stage.answers(batch).count == 1)
        #expect(stage.count("plugin_settlement_unknown") >= 1990)
    }

    @Test func `a plugin in trouble does not disturb another one`() throws {
        let sound = try open("plain")
        let broken = try open("segfault")
        for position in 1...10 as ClosedRange<UInt64> {
            broken.offer([position])
            try reopen(broken)
            #expect(sound.outcomes(sound.offer([position]), count: 1) == [.delivered])
        }
        #expect(sound.destination.metrics.counters["connects"] == 1)
    }

    @Test func `a batch that is larger than the memory shared so far gets more`() throws {
        let stage = try open("plain")
        for size in [10, 60_000, 200_000, 100] {
            let text = #"{"type":"track","event":"\#(String(repeating: "x", count: size))"}"#
            let batch = stage.offer(PluginStage.batch([(5, .track, text), (6, .track, text)]))
            #expect(stage.outcomes(batch, count: 2) == [.delivered, .delivered])
        }
        #expect(stage.destination.metrics.counters["whole_payloads"] == 8)
    }

    @Test func `the worker can use a batch's memory again while the plugin's process holds the batch`() throws {
        func address(_ batch: OutboundBatch) -> UInt {
            unsafe batch.payload.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        let stage = try open("keep")
        var batch = PluginStage.batch([(1, .track, PluginStage.event(1)), (2, .track, PluginStage.event(2))])
        let number = stage.offer(batch)
        #expect(stage.answers(number).isEmpty)
        let before = address(batch)
        // With a second reference, this would take fresh memory.
        batch.removeAll()
        #expect(address(batch) == before)
        stage.destination.close()
    }

    @Test(arguments: [
        ("EXITS", 20, "exited with status 0"), ("HANGS", 1, "cannot be loaded: the plugin did not return within 1 s"),
    ])
    func `a library that harms its process while it is loaded is an error`(
        variant: String, seconds: Int, words: String
    ) throws {
        try directory.addMisbehaving(variant)
        let error = #expect(throws: PluginError.self) {
            _ = try PluginDescription.read(
                PluginFile(named: "misbehaving", in: [directory.path]),
                program: TestCompiler.built("penstock-plugin-host"), within: .seconds(seconds))
        }
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func `a missing plugin host is an error that says what to do`() throws {
        let error = #expect(throws: PluginError.self) {
            _ = try PluginDescription.read(
                PluginFile(named: "misbehaving", in: [directory.path]), program: "/nonexistent/host")
        }
        #expect(error?.description.hasSuffix("reinstall Penstock") == true)
        let stage = try PluginStage(in: directory) { $0.hostProgram = "/nonexistent/host" }
        let another = #expect(throws: PluginError.self) { try stage.destination.open(from: Cursor(position: 0)) }
        #expect(another?.description.hasSuffix("reinstall Penstock, or set isolation: none") == true)
    }

    @Test func `no process is left behind`() throws {
        let stage = try open("plain")
        stage.offer([1])
        stage.destination.close()
        // A child of another test may just have ended.
        let isClean = pluginEventually {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return !names.contains { name in
                let text = (try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8)) ?? ""
                return text.contains("(penstock-plugin") && text.contains(") Z \(getpid()) ")
            }
        }
        #expect(isClean)
    }
}
