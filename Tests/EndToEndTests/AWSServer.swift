import Foundation
import TestSupport
import Testing

/// AWS's services as moto's server imitates them, over HTTP and HTTPS, with the resources that `aws_services.py`
/// describes. Every request needs a valid signature and a permission. The server ends with this object. Any thread.
final class AWSServer: @unchecked Sendable {
    /// What `aws_services.py` writes when all resources exist.
    struct Services: Decodable {
        /// Addresses without a path.
        var http, https: String
        /// The role's ARN.
        var role: String
        /// The id and the secret of each user's access key.
        var penstock, guest: [String]
    }

    /// What the resources of one name hold, and the requests that Penstock has sent since the last read.
    struct Content: Decodable {
        struct Object: Decodable {
            var key, storageClass, type, encoding, text: String
        }

        struct Record: Decodable {
            var shard: Int
            var key, text: String
        }

        struct Message: Decodable {
            var text, group, deduplication: String
        }

        struct LogEvent: Decodable {
            /// Milliseconds since 1970.
            var time: Int64
            var text: String
        }

        struct Request: Decodable {
            var line: String
            /// From the signature's scope. Empty: the request has no signature.
            var key, region, service: String
            var token: String
            /// `body`: the hash of the body as sent; otherwise the text of X-Amz-Content-Sha256.
            var hash: String
        }

        var s3, store, lake: [Object]
        var stream: [Record]
        var queue, small, fifo, bus: [Message]
        var logs: [LogEvent]
        var requests: [Request]
    }

    /// The server of the running suite.
    @TaskLocal static var current: AWSServer?

    private static let python = Repository.root + "/.build/python-clients/bin/python3"
    private static let program = Repository.root + "/Tests/Support/clients/aws_services.py"

    let services: Services
    private let directory: String
    private let process: Process

    /// - Parameter names: resources are created for each. The certificate is valid for one more bucket, `none`.
    init(names: [String]) throws {
        guard FileManager.default.isExecutableFile(atPath: Self.python) else {
            throw Failure("moto is not installed (\(Self.python) is missing): run make setup-test")
        }
        let directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        let process = Process()
        self.directory = directory
        self.process = process
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        do {
            let hosts = (names + ["none"]).map { ",DNS:\($0).localhost" }.joined()
            try OpenSSLServer.makeCertificate(in: directory, for: "IP:127.0.0.1" + hosts)
            try "".write(toFile: directory + "/log", atomically: false, encoding: .utf8)
            let log = FileHandle(forWritingAtPath: directory + "/log")
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = Self.command(["serve", directory] + names)
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = log
            process.standardError = log
            try process.run()
            let file = directory + "/services.json"
            try eventually("moto's server is ready") {
                guard process.isRunning else { throw Failure("moto's server ended") }
                return FileManager.default.fileExists(atPath: file)
            }
            services = try JSONDecoder().decode(Services.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
        } catch {
            let log = try? String(contentsOfFile: directory + "/log", encoding: .utf8)
            Self.end(process, directory)
            throw Failure("\(error): \(log?.suffix(4000) ?? "")")
        }
    }

    deinit { Self.end(process, directory) }

    private static func end(_ process: Process, _ directory: String) {
        if process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Without the AWS profile of the user who runs the tests.
    private static func command(_ arguments: [String]) -> [String] {
        ["-u", "AWS_PROFILE", "NO_PROXY=127.0.0.1", python, program] + arguments
    }

    var certificate: String { directory + "/cert.pem" }

    /// The address of a bucket that is the first part of its host, as it is on AWS. libcurl resolves names below
    /// `localhost` itself.
    func host(of bucket: String) -> String {
        services.https.replacingOccurrences(of: "127.0.0.1", with: bucket + ".localhost")
    }

    func queue(_ name: String) -> String { services.http + "/123456789012/" + name }

    /// Messages are removed from their queues.
    func read(_ name: String) throws -> Content {
        let command = ["-s", "KILL", "120", "env"] + Self.command(["read", directory, name])
        let result = try Program.run("timeout", command)
        guard result.status == 0 else { throw Failure("aws_services.py: \(result.errors)") }
        return try JSONDecoder().decode(Content.self, from: Data(result.output.utf8))
    }

    /// Lets the next requests pass without a signature and a permission. `inf`: all of them.
    func exempt(_ requests: String) throws {
        let result = try Program.run(
            "curl",
            [
                "-sSf", "--noproxy", "*", "--max-time", "30", "-H", "Content-Type: text/plain", "--data", requests,
                services.http + "/moto-api/reset-auth",
            ])
        guard result.status == 0 else { throw Failure("moto: \(result.errors)") }
    }
}

/// Starts one server for all tests of a suite.
struct WithAWSServer: SuiteTrait, TestScoping {
    /// The names of its resources.
    var names: [String]

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await AWSServer.$current.withValue(AWSServer(names: names), operation: function)
    }
}
