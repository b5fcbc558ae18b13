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
                of: packages + [
                    "nginx-light", "clickhouse-server", "strace", "patchelf", "golang-go", "python3-venv", "prometheus",
                    "python3-prometheus-client",
                ]))
        #expect(try Set(make(to: "run_products")) == ["penstock", "penstockd", "penstock-plugin-host", "sqlite"])
    }

    @Test func `make uninstall removes what make install has installed, and nothing else`() throws {
        let target = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        defer { try? FileManager.default.removeItem(atPath: target) }
        func run(_ target: String, into directory: String) throws {
            let result = try Program.run(
                "make",
                [
                    "--no-print-directory", "-C", Repository.root, target, "binaries=\(TestDaemon.binaries)",
                    "DESTDIR=\(directory)", "PREFIX=/usr", "SYSCONFDIR=/etc",
                ])
            try #require(result.status == 0, "\(result.errors)")
        }
        // Directories that others use, too, may stay.
        func files() throws -> Set<String> {
            let found = try Program.run(
                "env",
                ["-C", target, "find", ".", "-type", "f", "-o", "-type", "d", "-empty", "-path", "*penstock*"])
            return Set(found.output.split(separator: "\n").map { String($0.dropFirst(2)) })
        }
        try run("install-files", into: target)
        let installed = try files()
        #expect(
            installed.isSuperset(of: [
                "etc/penstock/penstock.yaml", "etc/penstock/conf.d", "usr/bin/penstockd",
                "usr/include/penstock_plugin.h",
                "usr/share/pkgconfig/penstock-plugin.pc", "usr/lib/penstock/libswiftCore.so",
            ]))
        let own = ["usr/lib/penstock/plugins/libmine.so", "usr/share/man/man1/other.1"]
        for file in own { try "mine".write(toFile: target + "/" + file, atomically: true, encoding: .utf8) }
        try run("uninstall", into: target)
        let configuration = installed.filter { $0.hasPrefix("etc/") }
        #expect(try files() == configuration.union(own))
        // Nothing is left to remove.
        try run("uninstall", into: target)
    }

    @Test func `an unreachable package index ends the setup with one line`() throws {
        try checkout()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let clients = "/Tests/Support/clients"
        try FileManager.default.createDirectory(atPath: directory + clients, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: Repository.root + clients + "/requirements.txt",
            toPath: directory + clients + "/requirements.txt")
        let result = try installPythonClients(in: directory)
        #expect(result.status == 1 && result.output == "==> installing Python packages into .build/python-clients\n")
        #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
        #expect(result.errors.contains("requirements.txt could not be installed; pip needs its index once: "))
        #expect(!FileManager.default.fileExists(atPath: directory + "/.build/python-clients"))
    }

    @Test func `the Python packages are installed once`() throws {
        let result = try installPythonClients(in: Repository.root)
        #expect(result.status == 0 && result.output + result.errors == "", "run make setup-test: \(result)")
        let packages = try String(
            contentsOfFile: Repository.root + "/Tests/Support/clients/requirements.txt", encoding: .utf8
        ).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(packages.allSatisfy { $0.wholeMatch(of: /[A-Za-z0-9._-]+==[0-9a-z.]+/) != nil }, "exact versions alone")
    }

    /// Without a package index.
    private func installPythonClients(in directory: String) throws -> Program {
        try Program.run(
            "env",
            [
                "-C", directory, "PIP_INDEX_URL=http://127.0.0.1:1/", "PIP_NO_CACHE_DIR=1", "NO_PROXY=127.0.0.1",
                "timeout", "-s", "KILL", "300", ".ci/install-python-clients",
            ])
    }

    /// The words of a variable.
    private func make(to variable: String) throws -> [String] {
        let result = try Program.run(
            "make", ["-C", Repository.root, "--no-print-directory", "--eval", "show: ; @echo $(\(variable))", "show"])
        #expect(result.status == 0, "\(result.errors)")
        return result.output.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
