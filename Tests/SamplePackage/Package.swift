// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "shop",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "penstock", path: "../..", traits: [])],
    targets: [
        .executableTarget(name: "shop", dependencies: [.product(name: "Penstock", package: "penstock")])
    ]
)
