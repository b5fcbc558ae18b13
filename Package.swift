// swift-tools-version: 6.2
import PackageDescription

/// The rules for every Swift target: Swift 6 language mode (the default of the tools version), strict memory safety,
/// and warnings are errors.
let rules: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    // For `@_lifetime`: a view of a batch's bytes cannot outlive the batch.
    .enableExperimentalFeature("Lifetimes"),
]

/// Xcode puts the SDK's privacy manifest into an application. On other hosts a resource would only bring code with it that
/// needs all of Foundation.
#if os(macOS)
    let hasPrivacyManifest = true
#else
    let hasPrivacyManifest = false
#endif

let cRules: [CSetting] = [.treatAllWarnings(as: .error)]
let cxxRules: [CXXSetting] = [.treatAllWarnings(as: .error)]

/// An application that depends on the SDK alone disables the traits, and SwiftPM does not fetch these packages.
let ofDaemon: TargetDependencyCondition? = .when(traits: ["Daemon"])

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio", condition: ofDaemon),
    .product(name: "NIOPosix", package: "swift-nio", condition: ofDaemon),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: rules)
}

/// A sink plugin in Swift.
func sink(_ name: String, _ dependencies: [Target.Dependency], path: String) -> Target {
    .target(
        name: name, dependencies: ["CPenstockPlugin", "PenstockPluginKit"] + dependencies, path: path,
        swiftSettings: rules)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: rules)
}

/// A program of libFuzzer: a directory of Tests/Fuzzing.
func fuzzing(_ name: String, _ directory: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Tests/Fuzzing/\(directory)", exclude: ["Corpus"],
        swiftSettings: rules)
}

/// The YAML files of Sources/Destinations/Presets.
let presets = [
    "amplitude",
    "azure_blob",
    "bigquery",
    "braze",
    "clickhouse",
    "cloudkit",
    "cloudwatch_logs",
    "customerio",
    "datadog",
    "elasticsearch",
    "eventbridge",
    "firebase",
    "firehose",
    "ga4",
    "gcs",
    "honeycomb",
    "hubspot",
    "influxdb",
    "iterable",
    "jitsu",
    "kinesis",
    "klaviyo",
    "loki",
    "matomo",
    "meta_conversions",
    "mixpanel",
    "new_relic",
    "opensearch",
    "otlp",
    "plausible",
    "posthog",
    "pubsub",
    "rudderstack",
    "s3",
    "s3_compatible",
    "segment",
    "slack",
    "snowflake",
    "snowplow",
    "splunk",
    "sqs",
    "victorialogs",
    "webhook",
]

/// The files of Sources/PluginTemplates. Their names differ, because each becomes a constant.
let pluginTemplates = [
    "C/C-README.md",
    "C/Makefile",
    "C/Sink.c",
    "Swift/Entry.swift",
    "Swift/LineFile.swift",
    "Swift/LineFileSink.swift",
    "Swift/Package.swift",
    "Swift/Swift-README.md",
]

/// The files of Sources/Page.
let page = [
    "page.html",
    "Style/colours.css",
    "Style/layout.css",
    "Style/views.css",
    "Script/elements.js",
    "Script/daemon.js",
    "Script/charts.js",
    "Script/difference.js",
    "Script/overview.js",
    "Script/routing.js",
    "Script/journey.js",
    "Script/debugger.js",
    "Script/letters.js",
    "Script/comparison.js",
    "Script/configuration.js",
    "Script/page.js",
]

let package = Package(
    name: "penstock",
    // The daemon runs only on Linux. The SDK also runs on Apple's platforms, in the versions that have `Mutex`.
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        // For applications: the SDK and its test kit.
        .library(name: "Penstock", targets: ["Penstock"]),
        // For applications on machines without a daemon. Not in `Penstock`: it needs all of Foundation.
        .library(name: "PenstockHTTP", targets: ["PenstockHTTP"]),
        // Generates typed events from an application's plan.yaml, in each build of the application.
        .plugin(name: "GenerateTrackingPlan", targets: ["GenerateTrackingPlan"]),
        .library(name: "PenstockTesting", targets: ["PenstockTesting"]),
        .executable(name: "penstockd", targets: ["penstockd"]),
        .executable(name: "penstock", targets: ["PenstockCommand"]),
        // Started by the daemon, one process for each plugin destination.
        .executable(name: "penstock-plugin-host", targets: ["penstock-plugin-host"]),
        // For sink plugins: the interface in C, and the kit for plugins in Swift.
        .library(name: "CPenstockPlugin", targets: ["CPenstockPlugin"]),
        .library(name: "PenstockPluginKit", targets: ["PenstockPluginKit"]),
        // Loaded with dlopen: libsqlite.so, libconsole.so …
        .library(name: "sqlite", type: .dynamic, targets: ["SQLitePlugin"]),
        .library(name: "console", type: .dynamic, targets: ["ConsolePlugin"]),
        .library(name: "journald", type: .dynamic, targets: ["JournaldPlugin"]),
        .library(name: "postgres", type: .dynamic, targets: ["PostgresPlugin"]),
        .library(name: "redis", type: .dynamic, targets: ["RedisPlugin"]),
        .library(name: "mqtt", type: .dynamic, targets: ["MQTTPlugin"]),
        // Not "nats": the linker would take the plugin's libnats.so for the client library of that name. Installed as
        // nats.so.
        .library(name: "penstock-nats", type: .dynamic, targets: ["NATSPlugin"]),
        .library(name: "kafka", type: .dynamic, targets: ["KafkaPlugin"]),
        // Loaded by tests, and never installed: libasyncsink.so.
        .library(name: "asyncsink", type: .dynamic, targets: ["AsyncSinkPlugin"]),
    ],
    traits: [
        .default(enabledTraits: ["Daemon"]),
        .trait(
            name: "Daemon", description: "The daemon, its command and its plugins.", enabledTraits: ["TrackingPlan"]),
        .trait(name: "TrackingPlan", description: "The build plugin GenerateTrackingPlan."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", .upToNextMinor(from: "2.101.0")),
        .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.0")),
        // The build plugin brings Yams to applications, which may need a newer version. Before 6, it does not find
        // duplicate keys.
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        // C libraries, one target for each. They have no `pkgConfig:`, because SwiftPM would warn about each missing
        // library in every build of an application. Their module maps name the library to link.
        .systemLibrary(name: "CSystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CISAL", providers: [.apt(["libisal-dev"])]),
        .systemLibrary(name: "CLuaLibrary", providers: [.apt(["liblua5.4-dev"])]),
        .target(
            name: "CLua", dependencies: ["CLuaLibrary"], cSettings: cRules, linkerSettings: [.linkedLibrary("lua5.4")]),
        .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
        // TLS of the daemon's own listeners. CTLS wraps the macros, and hides OpenSSL's types from Swift.
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "CTLS", dependencies: ["COpenSSL", "CCrypto"], cSettings: cRules,
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "CMosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "CPostgres", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CNats", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CKafka", providers: [.apt(["librdkafka-dev"])]),
        .systemLibrary(name: "CCurlLibrary", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(
            name: "CCurl", dependencies: ["CCurlLibrary"], cSettings: cRules, linkerSettings: [.linkedLibrary("curl")]),
        // Debian's libsimdjson-dev.
        .target(
            name: "CSimdjson", cxxSettings: cxxRules, linkerSettings: [.linkedLibrary("simdjson")]),
        // Debian's libre2-dev. The time of a match is linear in the text's length.
        .target(name: "CRE2", cxxSettings: cxxRules, linkerSettings: [.linkedLibrary("re2")]),
        .target(name: "CLinux", cSettings: cRules),
        .target(name: "CPenstockPlugin", cSettings: cRules),
        // The header's text, compiled in with `#embed`.
        .target(name: "CPluginHeader", cSettings: cRules),
        .target(name: "CPluginChannel", cSettings: cRules),

        // The rooms. Each room depends only on rooms above it.
        room("Telemetry"),
        room("NameSuggestion"),
        room("Events", ["CSimdjson"]),
        room("Hashing", ["CCrypto"]),
        room("Platform", ["CSystemd", "CLinux", "CTLS"]),
        room("Journal", ["Events", "Platform", "Telemetry", "CISAL"]),
        // The bodies of HTTP requests.
        room("RequestBodies", ["Events", "CZlib"]),
        // From NIOHTTP1 comes llhttp, the parser.
        room(
            "Ingest",
            [
                "Events", "Platform", "RequestBodies", "Telemetry",
                .product(name: "NIOHTTP1", package: "swift-nio", condition: ofDaemon),
            ]),
        room("Routing", ["Events", "Hashing", "NameSuggestion", "CLua", "CRE2"]),
        room("Delivery", ["Events", "Platform", "Telemetry"]),
        room("JournalAdapters", ["Delivery", "Events", "Ingest", "Journal"]),
        room(
            "PluginHosting",
            ["Events", "NameSuggestion", "Platform", "Telemetry", "CPenstockPlugin", "CPluginChannel"]),
        room(
            "PluginSources",
            ["Events", "Ingest", "Platform", "PluginHosting", "Telemetry", "CPenstockPlugin", "CPluginChannel"]),
        room(
            "Destinations",
            [
                "Delivery", "Events", "Hashing", "Platform", "PluginHosting", "Telemetry", "CCurl", "CCrypto", "CZlib",
                "CZstd", "CPenstockPlugin", "CPluginChannel",
            ],
            exclude: ["Presets"]),
        // The presets are compiled in, so the programs need no data files.
        .target(
            name: "Presets", path: "Sources/Destinations/Presets",
            resources: presets.map { .embedInCode("\($0).yaml") }, swiftSettings: rules),
        // The projects that `penstock plugins new` writes, compiled in.
        .target(
            name: "PluginTemplates", dependencies: ["CPluginHeader"],
            resources: pluginTemplates.map { .embedInCode("\($0).template") }, swiftSettings: rules),
        // The daemon's page for a browser, compiled in.
        .target(
            name: "Page", dependencies: ["Hashing"], resources: page.map { .embedInCode($0) }, swiftSettings: rules),
        room(
            "ConfigurationSyntax",
            ["NameSuggestion", .product(name: "Yams", package: "Yams", condition: .when(traits: ["TrackingPlan"]))]),
        room("TrackingPlan", ["ConfigurationSyntax"]),
        room("PlanGeneration", ["ConfigurationSyntax", "TrackingPlan"]),
        // Writes a tracking plan from events: `penstock plan infer`.
        room("PlanInference", ["Events", "Routing"]),
        room(
            "DaemonConfiguration",
            ["ConfigurationSyntax", "Events", "Platform", "Presets", "Routing", "NameSuggestion", "TrackingPlan"]),
        // Turns a configuration into the values that the other rooms take. Needs no running daemon.
        room(
            "Assembly",
            [
                "DaemonConfiguration", "ConfigurationSyntax", "Delivery", "Destinations", "Events", "Ingest", "Journal",
                "NameSuggestion", "Platform", "PluginHosting",
                "Routing", "TrackingPlan",
            ]),
        room("Control", ["Platform"] + nio + [.product(name: "NIOHTTP1", package: "swift-nio", condition: ofDaemon)]),
        room(
            "Daemon",
            [
                "Assembly", "DaemonConfiguration", "ConfigurationSyntax", "Control", "Delivery", "Destinations",
                "Events",
                "Explanation", "Hashing", "Ingest", "Journal", "JournalAdapters", "Page", "Platform", "PluginHosting",
                "PluginSources", "Routing", "Telemetry",
            ]),
        // Shows the effect of a configuration on an event: `penstock explain`, `penstock test`.
        room(
            "Explanation",
            [
                "Assembly", "DaemonConfiguration", "Delivery", "Destinations", "Events", "Ingest", "Journal",
                "Platform",
                "Routing",
            ]),

        // The SDK. It depends on none of the rooms above, on no package and on no C library.
        .target(
            name: "Penstock", exclude: hasPrivacyManifest ? [] : ["PrivacyInfo.xcprivacy"],
            resources: hasPrivacyManifest ? [.copy("PrivacyInfo.xcprivacy")] : [], swiftSettings: rules),
        room("PenstockHTTP", ["Penstock"]),
        room("PenstockTesting", ["Penstock"]),
        // An example application that uses the SDK.
        .target(name: "Social", dependencies: ["Penstock"], path: "Sources/Examples/Social", swiftSettings: rules),

        // The programs.
        .executableTarget(
            name: "penstockd",
            dependencies: [
                "Assembly", "Daemon",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: ofDaemon),
            ],
            swiftSettings: rules),
        // The module is not named `penstock`: the SDK's module is `Penstock`, and some filesystems ignore case.
        .executableTarget(
            name: "PenstockCommand",
            dependencies: [
                "Assembly", "DaemonConfiguration", "ConfigurationSyntax", "Control", "Destinations", "Events",
                "Explanation",
                "Journal",
                "PlanGeneration", "PlanInference", "Platform", "PluginHosting", "PluginSources", "PluginTemplates",
                "Routing", "TrackingPlan",
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: ofDaemon),
            ],
            path: "Sources/penstock", swiftSettings: rules),

        // The process of one plugin. In C: a plugin's destination costs little memory.
        .executableTarget(
            name: "penstock-plugin-host", dependencies: ["CPenstockPlugin", "CPluginChannel"],
            cSettings: cRules + [.define("_GNU_SOURCE")], linkerSettings: [.linkedLibrary("dl")]),

        // Writes the man pages: `make install`.
        .executableTarget(
            name: "manual", dependencies: ["DaemonConfiguration", "ConfigurationSyntax", "Routing"],
            swiftSettings: rules),

        // Runs in an application's build. It contains no code of the daemon.
        .executableTarget(
            name: "penstock-plan-generator", dependencies: ["ConfigurationSyntax", "PlanGeneration"],
            swiftSettings: rules),

        .plugin(name: "GenerateTrackingPlan", capability: .buildTool(), dependencies: ["penstock-plan-generator"]),

        // Sink plugins in Swift: the interface without pointers. It depends on none of the rooms.
        room("PenstockPluginKit", ["CPenstockPlugin"]),

        // Sink plugins that ship with Penstock.
        sink("SQLitePlugin", ["CSQLite"], path: "Plugins/SQLite"),
        sink("RedisPlugin", ["CHiredis", "EventTemplates", "Events"], path: "Plugins/Redis"),
        sink("MQTTPlugin", ["CMosquitto", "EventTemplates", "Events"], path: "Plugins/MQTT"),
        sink("JournaldPlugin", ["CSystemd", "EventTemplates", "Events"], path: "Plugins/Journald"),
        sink("PostgresPlugin", ["CPostgres", "EventTemplates", "Events"], path: "Plugins/Postgres"),
        sink(
            "NATSPlugin", ["CNats", "EventTemplates", "Events", "FleetFormat", "InFlightBatches"],
            path: "Plugins/NATS"),
        sink(
            "KafkaPlugin", ["CKafka", "EventTemplates", "Events", "FleetFormat", "InFlightBatches"],
            path: "Plugins/Kafka"),
        // Texts with placeholders for fields of an event, and the paths of such fields.
        sink("EventTemplates", ["Events"], path: "Plugins/EventTemplates"),
        // The messages in which batches travel from an edge to an aggregator.
        sink("FleetFormat", ["CZstd", "EventTemplates", "Events"], path: "Plugins/FleetFormat"),
        // Settles batches whose events are acknowledged one by one.
        sink("InFlightBatches", [], path: "Plugins/InFlightBatches"),
        .target(
            name: "ConsolePlugin", dependencies: ["CPenstockPlugin"], path: "Plugins/Console", publicHeadersPath: ".",
            cSettings: cRules),

        // Damages a journal systematically and checks the recovery: `make torture`.
        .executableTarget(
            name: "damage", dependencies: ["Journal", "Events", "Platform", "Telemetry"],
            path: "Tests/CrashTests/Damage",
            swiftSettings: rules),

        // Code that several test targets need.
        .target(
            name: "TestSupport", dependencies: ["Platform"], path: "Tests/Support/TestSupport", swiftSettings: rules),
        // A plugin destination with the parts of a daemon around it.
        .target(
            name: "PluginTesting",
            dependencies: [
                "CPenstockPlugin", "Delivery", "Destinations", "Events", "Platform", "PluginHosting", "Telemetry",
            ],
            path: "Tests/Support/PluginTesting", swiftSettings: rules),
        // An `AsyncSink` of the kit, which does what the events ask for.
        sink("AsyncSinkPlugin", [], path: "Tests/Support/AsyncSinkPlugin"),
        .target(name: "CAllocations", path: "Tests/Support/CAllocations", cSettings: cRules),
        .target(
            name: "CFieldOracle", path: "Tests/Support/CFieldOracle", cxxSettings: cxxRules,
            linkerSettings: [.linkedLibrary("simdjson")]),
        // `make bench-journal`. Its count of allocations is also a test of the journal.
        .executableTarget(
            name: "journal-benchmark", dependencies: ["Journal", "Events", "Platform", "Telemetry", "CAllocations"],
            path: "Tests/Benchmarks/Journal", swiftSettings: rules),
        // `make bench-routing`.
        .executableTarget(
            name: "routing-benchmark",
            dependencies: ["Routing", "DaemonConfiguration", "Events", "TrackingPlan", "CAllocations"],
            path: "Tests/Benchmarks/Routing", swiftSettings: rules),
        // `make bench-sdk`. Its count of allocations is also a test of the SDK.
        .executableTarget(
            name: "sdk-benchmark", dependencies: ["Penstock", "CAllocations"], path: "Tests/Benchmarks/SDK",
            swiftSettings: rules),
        // Tests the dependencies between the rooms, and the style of every file.
        tests("ArchitectureTests", []),
        tests("EventsTests", ["Events", "CFieldOracle"]),
        tests("PlatformTests", ["Platform"]),
        tests("RequestBodiesTests", ["RequestBodies", "Events", "CZlib"]),
        tests(
            "JournalTests",
            ["Journal", "Events", "Platform", "Telemetry", "CISAL", "damage", "journal-benchmark"],
            exclude: ["read_journal.py", "Golden"]),
        tests("IngestTests", ["Ingest", "Events", "Platform", "RequestBodies", "Telemetry"]),
        tests(
            "RoutingTests",
            ["Routing", "DaemonConfiguration", "ConfigurationSyntax", "Events", "TestSupport", "TrackingPlan"]),
        tests("DeliveryTests", ["Delivery", "Events", "Platform", "Telemetry"]),
        tests(
            "DestinationsTests",
            [
                "Destinations", "Delivery", "Events", "Platform", "Telemetry", "CZlib", "CZstd", "CSQLite",
                "CPenstockPlugin", "CPluginChannel", "PluginHosting", "PluginTesting", "TestSupport",
            ]),
        tests(
            "PluginSourcesTests",
            [
                "CPluginChannel", "Delivery", "Destinations", "Events", "Ingest", "Platform", "PluginHosting",
                "PluginSources", "PluginTesting", "Telemetry",
            ]),
        // The sink plugins, against real servers.
        tests(
            "SinkTests",
            [
                "CKafka", "CMosquitto", "CNats", "CPostgres", "CSQLite", "Delivery", "Destinations", "EventTemplates",
                "Events", "Ingest", "PenstockCommand", "PenstockPluginKit", "Platform", "PluginHosting",
                "PluginSources",
                "PluginTemplates", "PluginTesting", "Telemetry", "TestSupport",
            ]),
        tests("DaemonConfigurationTests", ["DaemonConfiguration", "Events", "Routing", "TestSupport"]),
        tests(
            "ExplanationTests",
            [
                "Explanation", "Assembly", "DaemonConfiguration", "Events", "Routing", "Destinations", "Delivery",
                "Journal",
                "Platform", "TestSupport",
            ],
            exclude: ["Presets"]),
        tests(
            "AssemblyTests",
            [
                "Assembly", "DaemonConfiguration", "Delivery", "Destinations", "Events", "Ingest", "Journal",
                "Platform",
                "Routing", "TestSupport",
            ]),
        tests("PageTests", ["Hashing", "Page"]),
        tests("ControlTests", ["Control", "Platform"] + nio),
        tests(
            "DaemonTests",
            [
                "Assembly", "DaemonConfiguration", "Control", "Daemon", "Delivery", "Destinations", "Events", "Ingest",
                "Journal", "JournalAdapters", "Platform", "Routing", "Telemetry", "TestSupport",
            ] + nio),
        .executableTarget(
            name: "simulate",
            dependencies: [
                "Delivery", "Events", "FleetFormat", "Ingest", "Journal", "JournalAdapters", "Platform",
                "PluginSources", "Telemetry",
            ],
            path: "Tests/Simulation", swiftSettings: rules),
        // An application that the tests kill and fork.
        .executableTarget(
            name: "sdk-application", dependencies: ["Penstock", "PenstockHTTP"], path: "Tests/Support/Application",
            swiftSettings: rules),
        // `make bench-sdk`, the part that uses the daemon.
        .executableTarget(
            name: "sdk-daemon-benchmark", dependencies: ["Penstock", "PenstockTesting"],
            path: "Tests/Benchmarks/SDKDaemon",
            swiftSettings: rules),
        tests(
            "PenstockTests",
            [
                "Penstock", "PenstockHTTP", "PenstockTesting", "Events", "Routing", "TestSupport", "penstockd",
                "PenstockCommand",
                "sdk-application",
                "sdk-benchmark",
            ]),
        tests("SocialTests", ["Penstock", "PenstockTesting", "Social"]),
        tests("FleetFormatTests", ["FleetFormat", "PenstockPluginKit"]),
        tests("TrackingPlanTests", ["DaemonConfiguration", "Platform", "TestSupport", "TrackingPlan"]),
        tests(
            "PlanInferenceTests",
            ["DaemonConfiguration", "ConfigurationSyntax", "Events", "PlanInference", "Routing", "TrackingPlan"]),
        tests("PlanGenerationTests", ["ConfigurationSyntax", "Penstock", "PlanGeneration", "Platform", "TestSupport"]),
        // This target is also an application with a tracking plan.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "Control", "Penstock", "Platform", "PluginTesting", "TestSupport", "penstockd", "PenstockCommand",
                "manual",
            ],
            swiftSettings: rules, plugins: ["GenerateTrackingPlan"]),
    ],
    cxxLanguageStandard: .cxx17
)

// `make fuzz` sets PENSTOCK_FUZZ. These programs link only with `--sanitize=fuzzer`, which brings their `main`.
if Context.environment["PENSTOCK_FUZZ"] != nil {
    package.targets += [
        fuzzing(
            "fuzz-frames", "Frames",
            [
                "CPenstockPlugin", "CPluginChannel", "Delivery", "Destinations", "Events", "Ingest", "Platform",
                "PluginHosting", "PluginSources", "Telemetry",
            ]),
        fuzzing("fuzz-lines", "Lines", ["Events", "Ingest", "Platform"]),
        fuzzing("fuzz-otlp", "OTLP", ["Events", "RequestBodies"]),
        fuzzing("fuzz-requests", "Requests", ["Events", "Ingest", "Platform"]),
    ]
}

// `make check ROOM=Journal` builds only the tests of one room, and the targets that they need.
if let only = Context.environment["PENSTOCK_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !only.contains($0.name) }
}

// `make install` leaves out the sink plugins whose library is missing: PENSTOCK_WITHOUT="kafka nats".
let targetsOfSinks: [String: Set<String>] = [
    "postgres": ["CPostgres", "PostgresPlugin"], "nats": ["CNats", "NATSPlugin"], "kafka": ["CKafka", "KafkaPlugin"],
    "redis": ["CHiredis", "RedisPlugin"], "mqtt": ["CMosquitto", "MQTTPlugin"],
]
for name in Context.environment["PENSTOCK_WITHOUT"]?.split(separator: " ").map(String.init) ?? [] {
    package.products.removeAll { $0.name == name || $0.name == "penstock-\(name)" }
    package.targets.removeAll { targetsOfSinks[name]?.contains($0.name) ?? false }
}
