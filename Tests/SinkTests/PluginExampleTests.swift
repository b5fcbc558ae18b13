import Foundation
import PluginTesting
import Testing

/// The examples in other languages, built as their README.md says, in the plugin host with its limits.
@Suite struct PluginExampleTests {
    private static let examples = TestCompiler.sources.deletingLastPathComponent().path + "/Plugins/Examples"

    /// Whether a program is on the PATH.
    private static func isInstalled(_ program: String) -> Bool {
        (try? TestCompiler.run(["which", program]))?.status == 0
    }

    @Test(.enabled(if: isInstalled("cargo"), "cargo is not installed"))
    func `the Rust example keeps the contract and its lines`() throws {
        let target = try PluginTestDirectory()
        let copy = target.path + "/lines"
        // Cargo writes Cargo.lock beside the sources.
        try FileManager.default.copyItem(atPath: Self.examples + "/Rust", toPath: copy)
        let (status, output) = try TestCompiler.run([
            "RUSTFLAGS=-Dwarnings", "CARGO_TARGET_DIR=\(target.path)/target", "cargo", "build", "--release",
            "--offline", "--quiet", "--manifest-path", copy + "/Cargo.toml",
        ])
        try #require(status == 0, "\(output)")
        try LineSink("lines_rust", target.path + "/target/release/liblines_rust.so").check()
    }

    @Test(.enabled(if: isInstalled("go"), "go is not installed"))
    func `the Go example keeps the contract and its lines`() throws {
        let target = try PluginTestDirectory()
        let library = target.path + "/liblines-go.so"
        let (status, output) = try TestCompiler.run([
            "-C", Self.examples + "/Go", "go", "build", "-buildvcs=false", "-buildmode=c-shared", "-o", library, ".",
        ])
        try #require(status == 0, "\(output)")
        #expect(output == "")
        try LineSink("lines-go", library).check()
    }
}
