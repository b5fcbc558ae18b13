import Foundation
import Synchronization

/// A directory for one test that only this user can write to. It is removed with this object.
package final class PluginTestDirectory: Sendable {
    package let path: String

    package init() throws {
        path =
            FileManager.default.temporaryDirectory.appendingPathComponent("penstock-plugin-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Adds a file with these bytes.
    @discardableResult
    package func add(_ name: String, _ bytes: Data) throws -> String {
        let file = "\(path)/\(name)"
        guard FileManager.default.createFile(atPath: file, contents: bytes, attributes: [.posixPermissions: 0o755])
        else {
            throw TestProblem(description: "cannot write \(file)")
        }
        return file
    }

    /// Adds the misbehaving plugin, as libmisbehaving.so.
    @discardableResult
    package func addMisbehaving(_ variant: String = "PLAIN", as name: String = "libmisbehaving.so") throws -> String {
        try add(name, try TestCompiler.misbehaving(variant))
    }

    /// Adds the source plugin of the tests, as libcounting.so.
    @discardableResult
    package func addCounting(_ variant: String = "PLAIN") throws -> String {
        try add("libcounting.so", try TestCompiler.library("counting.c", variant))
    }

    /// Adds a plugin of this package, which was built beside the tests.
    @discardableResult
    package func addBuilt(_ name: String) throws -> String {
        try add(name, try Data(contentsOf: URL(fileURLWithPath: TestCompiler.built(name))))
    }
}

package struct TestProblem: Error, CustomStringConvertible, Equatable {
    package var description: String

    package init(description: String) { self.description = description }
}

/// The C compiler of the Swift toolchain.
package enum TestCompiler {
    /// The directory Tests.
    package static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    package static let headers = sources.deletingLastPathComponent().appendingPathComponent(
        "Sources/CPenstockPlugin/include"
    )
    .path

    private static let built = Mutex<[String: Data]>([:])

    /// The path of a product of this package, which was built beside the tests.
    package static func built(_ name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// The library of the misbehaving plugin, compiled as one of its variants.
    /// - Parameter options: further options of the compiler.
    package static func misbehaving(_ variant: String, options: [String] = []) throws -> Data {
        try library("misbehaving.c", variant, options: options)
    }

    /// The library of a plugin in Tests/Plugins, compiled as one of its variants.
    package static func library(_ source: String, _ variant: String, options: [String] = []) throws -> Data {
        try built.withLock { built in
            let key = ([source, variant] + options).joined(separator: " ")
            if let bytes = built[key] { return bytes }
            let directory = try PluginTestDirectory()
            let library = "\(directory.path)/plugin.so"
            let (status, output) = try run(
                [
                    "clang", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread",
                    "-fvisibility=hidden",
                    "-D_GNU_SOURCE", "-DVARIANT_\(variant)", "-I", headers, "-o", library,
                    sources.appendingPathComponent("Plugins/\(source)").path,
                ] + options)
            guard status == 0 else { throw TestProblem(description: output) }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: library))
            built[key] = bytes
            return bytes
        }
    }

    /// - Returns: the exit status and everything that the command printed.
    package static func run(_ command: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
}
