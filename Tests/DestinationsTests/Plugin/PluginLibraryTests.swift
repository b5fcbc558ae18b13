import Delivery
import Destinations
import Foundation
import Platform
import PluginHosting
import PluginTesting
import Testing

/// Which files are loaded, and the errors for the others.
@Suite struct PluginLibraryTests {
    let directory: PluginTestDirectory

    init() throws { directory = try PluginTestDirectory() }

    /// The error is the same in this process and in the plugin's own.
    private func failure(_ name: String) throws -> PluginError {
        let directories = [directory.path]
        let program = try TestCompiler.built("penstock-plugin-host")
        let here = try #require(
            #expect(throws: PluginError.self) {
                _ = try PluginLibrary.load(PluginFile(named: name, in: directories))
            })
        let there = try #require(
            #expect(throws: PluginError.self) {
                _ = try PluginDescription.read(PluginFile(named: name, in: directories), program: program)
            })
        #expect("\(here)" == "\(there)")
        return here
    }

    @Test(arguments: ["NAME.so", "libNAME.so"])
    func `a plugin is found by its name`(pattern: String) throws {
        try directory.addMisbehaving(as: pattern.replacingOccurrences(of: "NAME", with: "misbehaving"))
        let library = try PluginDescription.read(
            PluginFile(named: "misbehaving", in: ["/nonexistent", directory.path]),
            program: TestCompiler.built("penstock-plugin-host"))
        #expect(library.name == "misbehaving")
        #expect(library.version == "0.1")
        #expect(library.summary == "Does what it should not")
        #expect(library.abi == (1, 2))
        #expect(library.roles == [.sink])
    }

    @Test(arguments: PluginDestinationOptions.Isolation.allCases)
    func `a plugin of version 1_0 is used as before`(isolation: PluginDestinationOptions.Isolation) throws {
        try directory.addMisbehaving("OLDER")
        let stage = try PluginStage(in: directory, isolation: isolation)
        #expect(try stage.destination.open(from: Cursor(position: 0)) == nil)
        #expect(stage.destination.plugin?.roles == [.sink])
        #expect(stage.outcomes(stage.offer([1]), count: 1) == [.delivered])
        stage.destination.close()
    }

    @Test func `a missing plugin is an error that lists the searched directories`() throws {
        let error = try failure("postgres")
        #expect(error.code == .notFound)
        #expect(error.description.contains("libpostgres.so"))
        #expect(error.description.contains(directory.path))
    }

    @Test(arguments: ["../evil", "/etc/evil", "", ".", "a b"])
    func `a name is not a path`(name: String) throws {
        #expect(try failure(name).code == .notFound)
    }

    @Test(arguments: [
        ("NO_ENTRY", PluginError.Code.notLoadable, "penstock_plugin_entry"),
        ("OTHER_MAJOR", .incompatible, "version 7.2"),
        ("SHORT_STRUCT", .incompatible, "48 bytes"),
        ("NAMELESS", .incompatible, "name"),
        ("DECLINES", .incompatible, "1.2"),
    ])
    func `a library with a broken handshake is rejected`(variant: String, code: PluginError.Code, words: String) throws
    {
        try directory.addMisbehaving(variant)
        // Twice: the error is the same for a library that stays loaded.
        for _ in 0..<2 {
            let error = try failure("misbehaving")
            #expect(error.code == code)
            #expect(error.description.contains(words), "\(error)")
            #expect(error.description.contains(directory.path), "\(error)")
        }
    }

    @Test func `a file that is not a library is rejected with its path`() throws {
        let path = try directory.add("libtext.so", Data("not a library".utf8))
        let error = try failure("text")
        #expect(error.code == .notLoadable)
        #expect(error.description.hasPrefix("\(path) cannot be loaded: "))
        #expect(!error.description.contains("/proc/self/fd"))
    }

    @Test func `a library that asks for an executable stack is rejected`() throws {
        try directory.add("libmisbehaving.so", try TestCompiler.misbehaving("PLAIN", options: ["-Wl,-z,execstack"]))
        let error = try failure("misbehaving")
        #expect(error.code == .notLoadable)
        #expect(error.description.contains("executable stack"), "\(error)")
    }

    @Test func `a library that says nothing about its stack is rejected`() throws {
        var bytes = try TestCompiler.misbehaving("PLAIN")
        let header = try #require(bytes.firstRange(of: Data([0x51, 0xE5, 0x74, 0x64])))
        bytes.replaceSubrange(header, with: Data(count: 4))
        try directory.add("libmisbehaving.so", bytes)
        #expect(try failure("misbehaving").description.contains("executable stack"))
    }

    @Test(arguments: [
        // The offsets of the class and of the machine (elf(5)).
        (4, 1, "(32 bits)"), (18, 40, "it was built for ARM (64 bits), and this machine is"),
        (5, 2, "it was built for"),
        (18, 199, "machine 199"), (16, 2, "it is not a shared library (cc -shared)"), (0, 0, "(no ELF file)"),
    ])
    func `a library for another machine is rejected`(offset: Int, value: UInt8, words: String) throws {
        var bytes = try TestCompiler.misbehaving("PLAIN")
        bytes[offset] = value
        try directory.add("libmisbehaving.so", bytes)
        let error = try failure("misbehaving")
        #expect(error.code == .notLoadable)
        #expect(error.description.contains(words), "\(error)")
    }

    @Test func `no bytes in the headers of a library harm the program that reads them`() throws {
        let bytes = try TestCompiler.misbehaving("PLAIN")
        // Every field of the ELF header, and of the first program headers, at the ends of its type.
        for offset in stride(from: 16, to: 64 + 4 * 56, by: 2) {
            for value in [0x00, 0x7F, 0x80, 0xFF] as [UInt8] {
                var broken = bytes
                for index in 0..<8 { broken[offset + index] = value }
                try? FileManager.default.removeItem(atPath: "\(directory.path)/libbroken.so")
                let path = try directory.add("libbroken.so", broken.prefix(4096))
                _ = try? PluginFile(at: path)
            }
        }
    }

    @Test func `a missing library is named`() throws {
        let needed = "\(directory.path)/libneeded.so"
        let (status, output) = try TestCompiler.run([
            "clang", "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,libneeded.so.7", "-o", needed,
        ])
        #expect(status == 0, "\(output)")
        try directory.add(
            "libmisbehaving.so",
            try TestCompiler.misbehaving("PLAIN", options: ["-Wl,--no-as-needed", "-L", directory.path, "-lneeded"]))
        let error = try failure("misbehaving")
        #expect(error.code == .notLoadable)
        #expect(error.description.hasSuffix("it needs the library libneeded.so.7, which is not installed"), "\(error)")
    }

    @Test func `a file that is replaced after the check is not what is loaded`() throws {
        try directory.addMisbehaving("EXITS", as: "libother.so")
        let path = try directory.addMisbehaving()
        let checked = try PluginFile(named: "misbehaving", in: [directory.path])
        let swapped = unsafe rename("\(directory.path)/libother.so", path)
        #expect(swapped == 0)
        let description = try PluginDescription.read(checked, program: TestCompiler.built("penstock-plugin-host"))
        #expect(description.name == "misbehaving")
    }

    @Test func `a link that is put in the place of a directory is not followed`() throws {
        try FileManager.default.createDirectory(atPath: "\(directory.path)/a", withIntermediateDirectories: false)
        let elsewhere = try PluginTestDirectory()
        try elsewhere.addMisbehaving()
        let path = "\(directory.path)/a/libmisbehaving.so"
        try FileManager.default.removeItem(atPath: "\(directory.path)/a")
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/a", withDestinationPath: elsewhere.path)
        // The path as it was resolved before.
        let error = #expect(throws: TrustedFile.Problem.self) { _ = try TrustedFile(at: path) }
        guard case .failed? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: [0o775, 0o757])
    func `a file that others can write is rejected`(permissions: Int) throws {
        let path = try directory.addMisbehaving()
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
        let error = try failure("misbehaving")
        #expect(error.code == .notTrusted)
        #expect(error.description.hasSuffix("chmod go-w \(path)"))
    }

    @Test func `a directory that others can write is rejected unless it is sticky`() throws {
        try directory.addMisbehaving()
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.path)
        let error = try failure("misbehaving")
        #expect(error.code == .notTrusted)
        #expect(error.description.hasSuffix("chmod go-w \(directory.path)"))
        let status = unsafe chmod(directory.path, 0o1777)
        #expect(status == 0)
        #expect(
            try PluginLibrary.load(PluginFile(named: "misbehaving", in: [directory.path])).description.name
                == "misbehaving")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a file of another user is rejected`() throws {
        let path = try directory.addMisbehaving()
        let status = unsafe chown(path, 65534, 65534)
        #expect(status == 0)
        let error = try failure("misbehaving")
        #expect(error.code == .notTrusted)
        #expect(error.description.hasSuffix("chown root \(path)"))
    }

    @Test func `a link that leads out of the directory is rejected`() throws {
        let elsewhere = try PluginTestDirectory()
        let target = try elsewhere.addMisbehaving()
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/misbehaving.so", withDestinationPath: target)
        let error = try failure("misbehaving")
        #expect(error.code == .notTrusted)
        #expect(error.description.contains(target))
    }

    @Test func `a replaced file is loaded again, and an unchanged one is loaded once`() throws {
        try directory.addMisbehaving()
        let first = try PluginLibrary.load(PluginFile(named: "misbehaving", in: [directory.path]))
        let again = try PluginLibrary.load(PluginFile(named: "misbehaving", in: [directory.path]))
        #expect(first === again)
        try FileManager.default.removeItem(atPath: first.description.path)
        try directory.addMisbehaving()
        let replaced = try PluginLibrary.load(PluginFile(named: "misbehaving", in: [directory.path]))
        #expect(first !== replaced)
        #expect(first.description.path == replaced.description.path)
    }

    @Test func `an inspection shows a plugin without creating an instance`() throws {
        let path = try directory.addBuilt("libsqlite.so")
        let inspection = try PluginInspection(of: path, program: TestCompiler.built("penstock-plugin-host"))
        #expect(inspection.name == "sqlite")
        #expect(inspection.abi == "1.2")
        #expect(try #require(inspection.roles.first?.schema).contains("synchronous"))
    }

    @Test func `the list includes plugins that cannot be used`() throws {
        try directory.addBuilt("libconsole.so")
        try directory.add("libbroken.so", Data("x".utf8))
        try directory.add("readme.txt", Data("x".utf8))
        let list = try PluginInspection.list(
            [directory.path, "/nonexistent"], program: TestCompiler.built("penstock-plugin-host"))
        #expect(
            list.map(\.path) == ["\(directory.path)/libbroken.so", "\(directory.path)/libconsole.so", "/nonexistent"])
        #expect(throws: PluginError.self) { try list[0].result.get() }
        #expect(try list[1].result.get().name == "console")
        #expect(throws: PluginError.self) { try list[2].result.get() }
    }

    /// The header compiles alone, as C and as C++, with all warnings.
    @Test(arguments: [
        ["clang", "-xc", "-std=c11"], ["clang++", "-xc++", "-std=c++17"],
    ])
    func `the plugin header compiles alone`(compiler: [String]) throws {
        let source = try directory.add(
            "alone",
            Data("#include \"penstock_plugin.h\"\nint main(void) { return penstock_batch_event(0, 0) != 0; }\n".utf8))
        let (status, output) = try TestCompiler.run(
            compiler + [
                "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", TestCompiler.headers, source,
            ])
        #expect(status == 0, "\(output)")
    }
}
