import Destinations
import PluginHosting
import PluginTesting
import Testing

/// `penstock plugins inspect --conformance`: it finds each fault of the misbehaving plugin, and none in a sound one.
@Suite struct PluginConformanceTests {
    /// The findings: the check, and the reason.
    private func failures(_ mode: String, deadline: Duration = .milliseconds(400)) throws -> [(String, String)] {
        let directory = try PluginTestDirectory()
        let path = try directory.addMisbehaving()
        var failures: [(String, String)] = []
        let run = PluginConformance(
            of: path, settings: #"{"mode":"\#(mode)"}"#, deadline: deadline,
            program: try TestCompiler.built("penstock-plugin-host"))
        let conforms = run.run { check, verdict in
            if case .failed(let reason) = verdict { failures.append((check, reason)) }
        }
        #expect(conforms == failures.isEmpty)
        return failures
    }

    @Test func `a plugin that keeps the contract passes`() throws {
        let failures = try failures("stateless", deadline: .seconds(20))
        #expect(failures.isEmpty, "\(failures)")
    }

    @Test(arguments: [
        ("keep", "did not settle a batch before its deadline"),
        ("twice", "settled batch 1, which it no longer holds"),
        ("unknown", "which it was never given"),
        ("busy", "deliver was BUSY"),
        ("nonsense", "deliver failed"),
        ("no_outcomes", "the array is missing"),
        ("segfault", "SIGSEGV"),
        ("exits", "exited with status 0"),
        ("writes_batch", "SIGSEGV"),
        ("loops", "did not settle a batch"),
        ("flush_fails", "no space left"),
        ("connect_fails_once", "nobody answers"),
        ("late", "after stop had returned"),
        ("destroy_hangs", "destroy: the plugin did not return"),
    ])
    func `each fault is found, with its reason`(mode: String, reason: String) throws {
        let failures = try failures(mode)
        #expect(failures.contains { $0.1.contains(reason) }, "\(failures)")
    }

    @Test func `a position that is not stored is found`() throws {
        let failures = try failures("plain", deadline: .seconds(20))
        #expect(failures.map(\.0) == ["the position is stored with the events, and never moves back"])
        #expect(failures.first?.1.hasSuffix("the position is missing") == true, "\(failures)")
    }
}
