import Foundation
import Testing

/// The Makefile's steps before the build, in a directory with little else.
@Suite struct MakefileTests {
    private let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"

    private func make(_ arguments: String...) throws -> Program {
        try Program.run("make", ["--no-print-directory", "-C", directory] + arguments)
    }

    private func checkout() throws {
        try FileManager.default.createDirectory(atPath: directory + "/.build", withIntermediateDirectories: true)
        for name in ["Makefile", ".ci"] {
            try FileManager.default.copyItem(atPath: Repository.root + "/" + name, toPath: directory + "/" + name)
        }
    }

    @Test(arguments: [
        ("checkout", "/elsewhere/penstock\n"),
        ("release.yaml", #"    outputs: ["/elsewhere/penstock/.build/x86_64/release/a.o"]"#),
    ])
    func `a moved checkout asks for make clean`(file: String, contents: String) throws {
        try checkout()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try contents.write(toFile: directory + "/.build/" + file, atomically: true, encoding: .utf8)
        for target in ["run", "test", "build", "check"] {
            let result = try make(target)
            #expect(result.status != 0)
            #expect(
                result.errors.contains("was built in /elsewhere/penstock and is now in \(directory)"),
                "\(result.errors)")
            #expect(result.errors.contains("make clean"), "\(result.errors)")
        }
        #expect(try make("clean").status == 0)
        let after = try make("checkout")
        #expect(after.status == 0, "\(after.errors)")
        #expect(try make("checkout").status == 0)
    }

    @Test func `make run installs no server and builds only what it shows`() throws {
        let packages = try make(to: "run_packages")
        for server in ["nginx-light", "clickhouse-server", "systemd", "dbus", "strace"] {
            #expect(!packages.contains(server))
        }
        #expect(Set(packages).isSuperset(of: ["python3", "sqlite3", "libcurl4-openssl-dev"]))
        #expect(
            try Set(make(to: "test_packages")).isSuperset(
                of: packages + ["nginx-light", "clickhouse-server", "strace", "patchelf"]))
        #expect(try Set(make(to: "run_products")) == ["penstock", "penstockd", "penstock-plugin-host", "sqlite"])
    }

    /// The words of a variable.
    private func make(to variable: String) throws -> [String] {
        let result = try Program.run(
            "make", ["-C", Repository.root, "--no-print-directory", "--eval", "show: ; @echo $(\(variable))", "show"])
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
