import Foundation
import TestSupport

/// The package in Tests/SamplePackage: an application as another developer would write it. It depends on the product
/// `Penstock` only.
///
/// It is built in a temporary directory from this checkout. Git is configured to fetch nothing.
struct SamplePackage {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
        .path
    /// The sample's directory.
    static let source = root + "/Tests/SamplePackage"

    private let directory: TemporaryDirectory
    private var scratch: String { directory.path + "/build" }

    init() throws { directory = try TemporaryDirectory() }

    /// - Returns: the build's output and status.
    func build() async throws -> ProgramResult {
        try await ProgramResult.run(
            "swift", ["build", "--package-path", copy(), "--scratch-path", scratch],
            environment: Self.withoutGit)
    }

    /// The built program.
    var binary: String { scratch + "/debug/shop" }

    /// The compiled Swift modules.
    func modules() throws -> Set<String> {
        let files = try FileManager.default.contentsOfDirectory(atPath: scratch + "/debug/Modules")
        return Set(files.filter { $0.hasSuffix(".swiftmodule") }.map { String($0.dropLast(12)) })
    }

    /// The targets that have an object file.
    func compiledTargets() throws -> Set<String> {
        let products = URL(filePath: scratch + "/debug").resolvingSymlinksInPath().path
        let files = FileManager.default.enumerator(atPath: products)?.compactMap { $0 as? String } ?? []
        return Set(
            files.filter { $0.hasSuffix(".o") && $0.contains(".build/") }.compactMap {
                $0.split(separator: ".build/").first.map(String.init)
            })
    }

    /// Copies the sample and sets this checkout's path. Built in place, it would leave a Package.resolved behind.
    private func copy() throws -> String {
        let manager = FileManager.default
        let package = directory.path + "/shop"
        try manager.copyItem(atPath: Self.source, toPath: package)
        try? manager.removeItem(atPath: package + "/.build")
        try? manager.removeItem(atPath: package + "/Package.resolved")
        let manifest = try String(contentsOfFile: package + "/Package.swift", encoding: .utf8)
        try manifest.replacing("path: \"../..\"", with: "path: \"\(Self.root)\"")
            .write(toFile: package + "/Package.swift", atomically: true, encoding: .utf8)
        return package
    }

    /// The names of the packages that SwiftPM has fetched.
    func fetchedPackages() throws -> [String] {
        let checkouts = scratch + "/checkouts"
        guard FileManager.default.fileExists(atPath: checkouts) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: checkouts).sorted()
    }

    /// An environment in which git fetches nothing.
    private static let withoutGit = [
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.allow", "GIT_CONFIG_VALUE_0": "never",
    ]
}
