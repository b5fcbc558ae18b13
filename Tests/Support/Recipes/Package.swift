// swift-tools-version: 6.2
import PackageDescription

/// The settings of the applications that use the recipes. RECIPE_MODE names one.
let modes: [String: [SwiftSetting]] = [
    "6": [.swiftLanguageMode(.v6)],
    "5": [.swiftLanguageMode(.v5)],
    "main-actor": [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)],
]
let settings = (modes[Context.environment["RECIPE_MODE"] ?? "6"] ?? []) + [.treatAllWarnings(as: .error)]

let package = Package(
    name: "recipes",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "penstock", path: "../../..", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-service-context", from: "1.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "server",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Penstock", package: "penstock"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "traces",
            dependencies: [
                .product(name: "Penstock", package: "penstock"),
                .product(name: "ServiceContextModule", package: "swift-service-context"),
            ],
            swiftSettings: settings),
    ]
)
