import Foundation

/// The modules of Tests/Support/StandIns, compiled into a directory beside the build's products.
enum StandIns {
    static let path = Task { () throws -> String in
        let directory = Binaries.directory + "/stand-ins"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let sources = SamplePackage.root + "/Tests/Support/StandIns"
        for file in try FileManager.default.contentsOfDirectory(atPath: sources) where file.hasSuffix(".swift") {
            let module = String(file.dropLast(6))
            let result = try await ProgramResult.run(
                "swiftc",
                [
                    "-emit-module", "-parse-as-library", "-swift-version", "6", "-module-name", module, "-o",
                    directory + "/\(module).swiftmodule", sources + "/" + file,
                ])
            guard result.status == 0 else { throw Failure("\(file): \(result.errors)") }
        }
        return directory
    }
}
