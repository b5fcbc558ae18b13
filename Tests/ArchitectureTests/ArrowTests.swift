import Foundation
import Testing

/// Which room may import which: the picture of arrows in CONTRIBUTING.md.
@Suite struct ArrowTests {
    /// Every room with everything that its files may import, the standard library's modules aside.
    static let arrows: [String: Set<String>] = [
        "Telemetry": [],
        "NameSuggestion": [],
        "Events": ["CSimdjson"],
        "Hashing": ["CCrypto"],
        "Platform": ["CLinux", "CSystemd", "CTLS", "Glibc"],
        "Journal": ["CISAL", "Events", "Platform", "Telemetry"],
        "RequestBodies": ["CZlib", "Events"],
        "Ingest": ["CNIOLLHTTP", "Events", "Platform", "RequestBodies", "Telemetry"],
        "Routing": ["CLua", "CRE2", "Events", "Hashing", "NameSuggestion"],
        "Delivery": ["Events", "Platform", "Telemetry"],
        "JournalAdapters": ["Delivery", "Events", "Ingest", "Journal"],
        "PluginHosting": [
            "CPenstockPlugin", "CPluginChannel", "Events", "NameSuggestion", "Platform", "Telemetry",
        ],
        "PluginSources": [
            "CPenstockPlugin", "CPluginChannel", "Events", "Ingest", "Platform", "PluginHosting", "Telemetry",
        ],
        "Destinations": [
            "CCrypto", "CCurl", "CPenstockPlugin", "CPluginChannel", "CZlib", "CZstd", "Delivery", "Events", "Hashing",
            "Platform", "PluginHosting", "Telemetry",
        ],
        "ConfigurationSyntax": ["NameSuggestion", "Yams"],
        "TrackingPlan": ["ConfigurationSyntax"],
        "PlanGeneration": ["ConfigurationSyntax", "TrackingPlan"],
        "PlanInference": ["Events", "Routing"],
        "DaemonConfiguration": [
            "ConfigurationSyntax", "Events", "NameSuggestion", "Platform", "Presets", "Routing", "TrackingPlan",
        ],
        "Assembly": [
            "DaemonConfiguration", "Delivery", "Destinations", "Events", "Ingest", "Journal", "NameSuggestion",
            "Platform",
            "PluginHosting", "Routing", "TrackingPlan",
        ],
        "Control": ["NIOCore", "NIOHTTP1", "NIOPosix", "Platform"],
        "Daemon": [
            "Assembly", "DaemonConfiguration", "ConfigurationSyntax", "Control", "Delivery", "Destinations", "Events",
            "Explanation", "Hashing", "Ingest", "Journal", "JournalAdapters", "NIOCore", "NIOPosix", "Page",
            "Platform", "PluginHosting", "PluginSources", "Routing", "Telemetry",
        ],
        "Explanation": [
            "Assembly", "DaemonConfiguration", "Delivery", "Destinations", "Events", "Ingest", "Journal", "Platform",
            "Routing",
        ],
        "PluginTemplates": ["CPluginHeader"],
        "Page": ["Hashing"],
        "PenstockPluginKit": ["CPenstockPlugin", "Dispatch", "Glibc"],
        // The SDK runs on Apple's platforms, too, and stands alone.
        "Penstock": ["Android", "Darwin", "Dispatch", "Glibc", "Musl", "os"],
        "PenstockHTTP": ["FoundationNetworking", "Penstock"],
        "PenstockTesting": [
            "Android", "Darwin", "FoundationNetworking", "Glibc", "Musl", "Penstock", "Testing", "XCTest",
        ],
        "Examples": ["Penstock"],
        // The programs.
        "penstockd": ["ArgumentParser", "Assembly", "Daemon"],
        "penstock": [
            "ArgumentParser", "Assembly", "DaemonConfiguration", "ConfigurationSyntax", "Control", "Destinations",
            "Events",
            "Explanation", "Journal", "PlanGeneration", "PlanInference", "Platform", "PluginHosting", "PluginSources",
            "PluginTemplates", "Routing", "TrackingPlan",
        ],
        "manual": ["DaemonConfiguration", "ConfigurationSyntax", "Routing"],
        "penstock-plan-generator": ["ConfigurationSyntax", "PlanGeneration"],
    ]

    /// What comes with the compiler.
    private static let standard: Set<String> = ["Foundation", "FoundationEssentials", "Synchronization", "Swift"]

    @Test(arguments: arrows.keys.sorted())
    func `a room imports only the rooms below it`(room: String) throws {
        let allowed = try #require(Self.arrows[room])
        for file in try SourceTree.files(below: "Sources/\(room)") {
            let others = Set(file.imports).subtracting(allowed).subtracting(Self.standard)
            #expect(others.isEmpty, "\(file.path) imports \(others.sorted())")
        }
    }

    @Test func `every room has its arrows here, and every arrow is in use`() throws {
        let rooms = try FileManager.default.contentsOfDirectory(atPath: SourceTree.root.path + "/Sources")
        for room in rooms where try !SourceTree.files(below: "Sources/\(room)").isEmpty {
            let allowed = try #require(Self.arrows[room], "\(room) is missing in the table")
            let imported = try SourceTree.files(below: "Sources/\(room)").reduce(into: Set<String>()) {
                $0.formUnion($1.imports)
            }
            let unused = allowed.subtracting(imported).subtracting([
                "Darwin", "Musl", "os", "FoundationNetworking", "Glibc", "XCTest",
            ])
            #expect(unused.isEmpty, "\(room) needs no \(unused.sorted())")
        }
    }

    @Test func `the rooms form no cycle`() throws {
        var done: Set<String> = []
        var rest = Self.arrows
        while !rest.isEmpty {
            let free = rest.filter { $0.value.allSatisfy { done.contains($0) || Self.arrows[$0] == nil } }.map(\.key)
            try #require(!free.isEmpty, "a cycle among \(rest.keys.sorted())")
            done.formUnion(free)
            for room in free { rest[room] = nil }
        }
    }
}
