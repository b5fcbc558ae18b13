// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is held to the same rules: Swift 6 language mode (the tools version's
/// default), strict memory safety, and no warning left standing.
let rules: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // `@_lifetime`: views into a batch's bytes that cannot outlive the batch.
    .enableExperimentalFeature("Lifetimes"),
]

let cRules: [CSetting] = [.treatAllWarnings(as: .error)]
let cxxRules: [CXXSetting] = [.treatAllWarnings(as: .error)]

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: rules)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: rules)
}

/// The YAML files of Sources/Destinations/Presets.
let presets = [
    "amplitude",
    "clickhouse",
    "cloudkit",
    "datadog",
    "elasticsearch",
    "firebase",
    "ga4",
    "loki",
    "mixpanel",
    "opensearch",
    "posthog",
    "rudderstack",
    "segment",
    "webhook",
]

let package = Package(
    name: "penstock",
    // The daemon is for Linux alone; the SDK is for Apple's platforms, too, from where they have `Mutex`.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        // For applications: the SDK and its test kit.
        .library(name: "Penstock", targets: ["Penstock"]),
        // Typed events from an application's plan.yaml, in each of its builds.
        .plugin(name: "GenerateTrackingPlan", targets: ["GenerateTrackingPlan"]),
        .library(name: "PenstockTesting", targets: ["PenstockTesting"]),
        .executable(name: "penstockd", targets: ["penstockd"]),
        .executable(name: "penstock", targets: ["PenstockCommand"]),
        .library(name: "CPenstockPlugin", targets: ["CPenstockPlugin"]),
        // Loaded by the daemon with dlopen: libsqlite.so, libconsole.so.
        .library(name: "sqlite", type: .dynamic, targets: ["SQLitePlugin"]),
        .library(name: "console", type: .dynamic, targets: ["ConsolePlugin"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.0")),
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.0")),
        .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.0")),
    ],
    targets: [
        // C libraries, each behind one target.
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CISAL", pkgConfig: "libisal", providers: [.apt(["libisal-dev"])]),
        .systemLibrary(name: "CLuaLibrary", pkgConfig: "lua5.4", providers: [.apt(["liblua5.4-dev"])]),
        .target(name: "CLua", dependencies: ["CLuaLibrary"], cSettings: cRules),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCurlLibrary", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CCurl", dependencies: ["CCurlLibrary"], cSettings: cRules),
        // Debian's libsimdjson-dev; its pkg-config file carries a -D that SwiftPM refuses.
        .target(
            name: "CSimdjson", cxxSettings: cxxRules, linkerSettings: [.linkedLibrary("simdjson")]),
        // Debian's libre2-dev, the same; a regular expression of a user's takes a time linear in the text.
        .target(name: "CRE2", cxxSettings: cxxRules, linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "CLinux", cSettings: cRules),
        .target(name: "CPenstockPlugin", cSettings: cRules),

        // The rooms; each depends only on rooms above it.
        room("Telemetry"),
        room("NameSuggestion"),
        room("Events", ["CSimdjson"]),
        room("Hashing", ["CCrypto"]),
        room("Platform", ["CSystemd", "CLinux"]),
        room("Journal", ["Events", "Platform", "Telemetry", "CISAL"]),
        room("Ingest", ["Events", "Platform", "Telemetry"]),
        room("Routing", ["Events", "Hashing", "NameSuggestion", "CLua", "CRE2"]),
        room("Delivery", ["Events", "Platform", "Telemetry"]),
        room("JournalAdapters", ["Delivery", "Events", "Ingest", "Journal"]),
        room(
            "Destinations",
            [
                "Delivery", "Events", "Hashing", "Platform", "NameSuggestion", "Telemetry", "CCurl", "CCrypto", "CZlib",
                "CZstd", "CPenstockPlugin",
            ],
            exclude: ["Presets"]),
        // Compiled in, so the programs need no data files.
        .target(
            name: "Presets", path: "Sources/Destinations/Presets",
            resources: presets.map { .embedInCode("\($0).yaml") }, swiftSettings: rules),
        room("ConfigurationSyntax", ["NameSuggestion", .product(name: "Yams", package: "Yams")]),
        room("TrackingPlan", ["ConfigurationSyntax"]),
        room("PlanGeneration", ["ConfigurationSyntax", "TrackingPlan"]),
        room(
            "Configuration",
            ["ConfigurationSyntax", "Events", "Platform", "Presets", "Routing", "NameSuggestion", "TrackingPlan"]),
        // From a configuration to what the other rooms take: all that needs no running daemon.
        room(
            "Assembly",
            [
                "Configuration", "ConfigurationSyntax", "Delivery", "Destinations", "Events", "Ingest", "Journal",
                "NameSuggestion", "Platform",
                "Routing", "TrackingPlan",
            ]),
        room("Control", ["Platform"] + nio + [.product(name: "NIOHTTP1", package: "swift-nio")]),
        room(
            "Daemon",
            [
                "Assembly", "Configuration", "ConfigurationSyntax", "Control", "Delivery", "Destinations", "Events",
                "Ingest", "Journal",
                "JournalAdapters", "Platform", "Routing", "Telemetry",
            ]),
        // Previews what a configuration does with an event: `penstock explain`, `penstock test`.
        room(
            "Explanation",
            [
                "Assembly", "Configuration", "Delivery", "Destinations", "Events", "Ingest", "Journal", "Platform",
                "Routing",
            ]),

        // The SDK: none of the rooms above, no package, no C library.
        room("Penstock"),
        room("PenstockTesting", ["Penstock"]),
        // An application that uses it, to be read and copied.
        .target(name: "Social", dependencies: ["Penstock"], path: "Sources/Examples/Social", swiftSettings: rules),

        // The programs.
        .executableTarget(
            name: "penstockd",
            dependencies: ["Assembly", "Daemon", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: rules),
        // Its own module name: `Penstock` is the SDK's, and file systems exist that fold case.
        .executableTarget(
            name: "PenstockCommand",
            dependencies: [
                "Assembly", "Configuration", "ConfigurationSyntax", "Control", "Destinations", "Events", "Explanation",
                "Journal",
                "PlanGeneration", "Platform", "Routing", "TrackingPlan",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/penstock", swiftSettings: rules),

        // Writes the man pages: `make install`.
        .executableTarget(
            name: "manual", dependencies: ["Configuration", "ConfigurationSyntax", "Routing"], swiftSettings: rules),

        // Run by an application's build, with nothing of the daemon in it.
        .executableTarget(
            name: "penstock-plan-generator", dependencies: ["ConfigurationSyntax", "PlanGeneration"],
            swiftSettings: rules),

        .plugin(name: "GenerateTrackingPlan", capability: .buildTool(), dependencies: ["penstock-plan-generator"]),

        // Sink plugins that ship with Penstock.
        .target(
            name: "SQLitePlugin", dependencies: ["CPenstockPlugin", "CSQLite"], path: "Plugins/SQLite",
            swiftSettings: rules),
        .target(
            name: "ConsolePlugin", dependencies: ["CPenstockPlugin"], path: "Plugins/Console", publicHeadersPath: ".",
            cSettings: cRules),

        // Damages a journal systematically and checks the recovery: `make torture`.
        .executableTarget(
            name: "damage", dependencies: ["Journal", "Events", "Platform", "Telemetry"],
            path: "Tests/CrashTests/Damage",
            swiftSettings: rules),

        // What several test targets need.
        .target(
            name: "TestSupport", dependencies: ["Platform"], path: "Tests/Support/TestSupport", swiftSettings: rules),
        .target(name: "CAllocations", path: "Tests/Support/CAllocations", cSettings: cRules),
        .target(
            name: "CFieldOracle", path: "Tests/Support/CFieldOracle", cxxSettings: cxxRules,
            linkerSettings: [.linkedLibrary("simdjson")]),
        // `make bench-journal`; its count of allocations is a test of the journal, too.
        .executableTarget(
            name: "journal-benchmark", dependencies: ["Journal", "Events", "Platform", "Telemetry", "CAllocations"],
            path: "Tests/Benchmarks/Journal", swiftSettings: rules),
        // `make bench-routing`.
        .executableTarget(
            name: "routing-benchmark",
            dependencies: ["Routing", "Configuration", "Events", "TrackingPlan", "CAllocations"],
            path: "Tests/Benchmarks/Routing", swiftSettings: rules),
        // `make bench-sdk`; its count of allocations is a test of the SDK, too.
        .executableTarget(
            name: "sdk-benchmark", dependencies: ["Penstock", "CAllocations"], path: "Tests/Benchmarks/SDK",
            swiftSettings: rules),
        // The arrows between the rooms, and the style of every file.
        tests("ArchitectureTests", []),
        tests("EventsTests", ["Events", "CFieldOracle"]),
        tests("PlatformTests", ["Platform"]),
        tests(
            "JournalTests",
            ["Journal", "Events", "Platform", "Telemetry", "CISAL", "damage", "journal-benchmark"],
            exclude: ["read_journal.py", "Golden"]),
        tests("IngestTests", ["Ingest", "Events", "Platform", "Telemetry"]),
        tests(
            "RoutingTests",
            ["Routing", "Configuration", "ConfigurationSyntax", "Events", "TestSupport", "TrackingPlan"]),
        tests("DeliveryTests", ["Delivery", "Events", "Platform", "Telemetry"]),
        tests(
            "DestinationsTests",
            [
                "Destinations", "Delivery", "Events", "Platform", "Telemetry", "CZlib", "CZstd", "CSQLite",
                "CPenstockPlugin", "TestSupport",
            ]),
        tests("ConfigurationTests", ["Configuration", "Events", "Routing", "TestSupport"]),
        tests(
            "ExplanationTests",
            [
                "Explanation", "Assembly", "Configuration", "Events", "Routing", "Destinations", "Delivery", "Journal",
                "Platform", "TestSupport",
            ],
            exclude: ["Presets"]),
        tests(
            "AssemblyTests",
            [
                "Assembly", "Configuration", "Delivery", "Destinations", "Events", "Ingest", "Journal", "Platform",
                "Routing", "TestSupport",
            ]),
        tests("ControlTests", ["Control", "Platform"] + nio),
        tests(
            "DaemonTests",
            [
                "Assembly", "Configuration", "Control", "Daemon", "Delivery", "Destinations", "Events", "Ingest",
                "Journal", "JournalAdapters",
                "Platform", "Routing",
                "Telemetry", "TestSupport",
            ]),
        .executableTarget(
            name: "simulate",
            dependencies: ["Delivery", "Events", "Ingest", "Journal", "Platform", "JournalAdapters", "Telemetry"],
            path: "Tests/Simulation", swiftSettings: rules),
        // An application, to be killed and forked.
        .executableTarget(
            name: "sdk-application", dependencies: ["Penstock"], path: "Tests/Support/Application", swiftSettings: rules
        ),
        // `make bench-sdk`: the SDK with the daemon.
        .executableTarget(
            name: "sdk-daemon-benchmark", dependencies: ["Penstock", "PenstockTesting"],
            path: "Tests/Benchmarks/SDKDaemon",
            swiftSettings: rules),
        tests(
            "PenstockTests",
            [
                "Penstock", "PenstockTesting", "Events", "Routing", "TestSupport", "penstockd", "PenstockCommand",
                "sdk-application",
                "sdk-benchmark",
            ]),
        tests("SocialTests", ["Penstock", "PenstockTesting", "Social"]),
        tests("TrackingPlanTests", ["Configuration", "Platform", "TestSupport", "TrackingPlan"]),
        tests("PlanGenerationTests", ["ConfigurationSyntax", "Penstock", "PlanGeneration", "Platform", "TestSupport"]),
        // It is an application with a tracking plan, too.
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["Control", "Penstock", "Platform", "TestSupport", "penstockd", "PenstockCommand", "manual"],
            swiftSettings: rules, plugins: ["GenerateTrackingPlan"]),
    ],
    cxxLanguageStandard: .cxx17
)

// `make check ROOM=Journal`: one room's tests, and nothing that they do not need.
if let only = Context.environment["PENSTOCK_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !only.contains($0.name) }
}
