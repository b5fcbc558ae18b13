import Foundation
import PluginHosting
import PluginSources
import PluginTesting
import Testing

/// The sources that ship with Penstock, in a confined process of the plugin host.
@Suite struct SourceConformanceTests {
    private func check(_ library: String, _ settings: String) throws {
        let directory = try PluginTestDirectory()
        let path = try directory.addBuilt(library)
        let run = SourceConformance(
            of: path, settings: settings, deadline: .seconds(30),
            program: try TestCompiler.built("penstock-plugin-host"))
        let conforms = run.run { check, verdict in
            if case .failed(let reason) = verdict { Issue.record("\(check): \(reason)") }
        }
        #expect(conforms)
    }

    @Test func `the journald source keeps the contract`() throws {
        let logs = try JournalDirectory()
        try logs.append(0..<20_000)
        try check("libjournald.so", #"{"directory":"\#(logs.path)","start":"beginning"}"#)
    }

    @Test func `the kafka source keeps the contract`() throws {
        let kafka = try MockKafka()
        kafka.create("events", partitions: 2)
        let event = #"{"type":"track","event":"Order Completed","userId":"u1","properties":{"total":19.90}}"#
        for partition in 0..<Int32(2) { try kafka.append((0..<20_000).map { _ in event }, to: "events", partition) }
        try check(
            "libkafka.so",
            #"""
            {"brokers":\#(kafka.brokers),"topic":"events","group":"g",
            "properties":{"session.timeout.ms":3000,"heartbeat.interval.ms":300}}
            """#)
    }
}
