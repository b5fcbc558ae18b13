import Foundation
import Glibc
import Testing

@testable import Platform

/// Certificates and keys that can be used, and those that cannot.
@Suite struct TLSContextTests {
    let certificates: Certificates

    init() throws {
        certificates = try Certificates()
        try certificates.make("server")
    }

    private func error(_ options: TLSContext.Options) -> TLSError? {
        do throws(TLSError) {
            _ = try TLSContext(options)
            return nil
        } catch {
            #expect(TLSContext.problems(of: options).errors.contains(error))
            return error
        }
    }

    private func write(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: certificates.file(name)))
        return certificates.file(name)
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOfFile: certificates.file(name), encoding: .utf8)
    }

    @Test func `a context knows how long its certificate is valid`() throws {
        let validity = try TLSContext(certificates.options()).validity
        let now = Int64(Date().timeIntervalSince1970)
        #expect((now - 600...now + 600).contains(validity.from))
        #expect((now + 2 * 86_400 - 600...now + 2 * 86_400 + 600).contains(validity.until))
    }

    @Test func `the validity is that of the whole chain`() throws {
        try certificates.make("authority", "-days", "1")
        let chain = try write("chain.pem", read("server.pem") + read("authority.pem"))
        let validity = try TLSContext(.init(certificate: chain, key: .file(certificates.file("server.key")))).validity
        #expect(validity.until < Int64(Date().timeIntervalSince1970) + 86_400 + 600)
    }

    @Test func `the key may be in the certificate's file, or be given as bytes`() throws {
        let both = try write("both.pem", read("server.key") + read("server.pem"))
        #expect(error(.init(certificate: both)) == nil)
        #expect(error(.init(certificate: certificates.file("server.pem"), key: .pem(try read("server.key")))) == nil)
    }

    @Test func `RSA keys are accepted, too`() throws {
        try certificates.openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=rsa", "-keyout", "rsa.key",
            "-out", "rsa.pem")
        #expect(error(certificates.options("rsa")) == nil)
    }

    @Test func `a key of another certificate is an error`() throws {
        try certificates.make("other")
        let problem = error(
            .init(certificate: certificates.file("server.pem"), key: .file(certificates.file("other.key"))))
        #expect(problem?.part == .key && problem?.reason == .content("it does not belong to the certificate"))
        #expect(
            problem?.message
                == "the private key in \(certificates.file("other.key")) cannot be used: it does not belong to the certificate"
        )
    }

    @Test func `an encrypted key is an error, and no passphrase is asked for`() throws {
        try certificates.openssl(
            "pkcs8", "-topk8", "-in", "server.key", "-out", "secret.key", "-passout", "pass:abcdef")
        let problem = error(
            .init(certificate: certificates.file("server.pem"), key: .file(certificates.file("secret.key"))))
        #expect(problem?.reason == .content("it is encrypted with a passphrase"))
        #expect(problem?.hint.contains("openssl pkey") == true)
    }

    @Test func `missing, empty, damaged and unsuitable files are errors that name the file`() throws {
        let server = certificates.file("server.pem")
        let key = TLSContext.Key.file(certificates.file("server.key"))
        let empty = try write("empty", "")
        let text = try write("text", "hello\n")
        let damaged = try write("damaged", read("server.pem").replacing("MII", with: "!!!"))
        let half = try write("half", read("server.pem") + "-----BEGIN CERTIFICATE-----\nabc\n")
        let huge = try write("huge", String(repeating: "#", count: (1 << 20) + 1))
        let nowhere = certificates.file("nowhere")
        let directory = certificates.directory.path

        #expect(error(.init(certificate: nowhere, key: key))?.message.hasSuffix("No such file or directory") == true)
        #expect(error(.init(certificate: directory, key: key))?.reason == .notARegularFile)
        #expect(error(.init(certificate: "/dev/null", key: key))?.reason == .notARegularFile)
        #expect(error(.init(certificate: huge, key: key))?.reason == .tooLong)
        #expect(error(.init(certificate: empty, key: key))?.reason == .content("it is empty"))
        #expect(
            error(.init(certificate: text, key: key))?.reason == .content("it has no certificate in PEM format"))
        for file in [damaged, half] {
            let problem = error(.init(certificate: file, key: key))
            #expect(problem?.part == .certificate && problem?.path == file, "\(String(describing: problem))")
        }
        #expect(error(.init(certificate: server))?.reason == .content("it has no readable private key in PEM format"))
        #expect(error(.init(certificate: server, key: .pem("")))?.reason == .content("it is empty"))
        #expect(
            error(.init(certificate: server, key: .pem("x\0y")))?.reason
                == .content("it has no readable private key in PEM format"))
        #expect(error(.init(certificate: server, key: .file(nowhere)))?.part == .key)
        #expect(error(.init(certificate: server, key: key, clientCA: nowhere))?.part == .clientCA)
        #expect(
            error(.init(certificate: server, key: key, clientCA: text))?.reason
                == .content("it has no certificate in PEM format"))
        #expect(error(.init(certificate: server, key: key, clientCA: half))?.part == .clientCA)
        // Enough for `problems`, but not for a listener.
        #expect(throws: TLSError.self) { _ = try TLSContext(.init(certificate: server, key: nil)) }
    }

    @Test func `a named pipe is an error and does not block`() throws {
        let pipe = certificates.file("pipe")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        #expect(error(.init(certificate: pipe))?.reason == .notARegularFile)
    }

    @Test func `all problems are found at once`() throws {
        let problems = TLSContext.problems(
            of: .init(
                certificate: certificates.file("a"), key: .file(certificates.file("b")),
                clientCA: certificates.file("c")))
        #expect(problems.errors.map(\.part) == [.certificate, .key, .clientCA] && problems.validity == nil)
    }

    @Test func `without the key, only the rest is checked`() {
        let problems = TLSContext.problems(of: .init(certificate: certificates.file("server.pem"), key: nil))
        #expect(problems.errors.isEmpty && problems.validity != nil)
    }
}
