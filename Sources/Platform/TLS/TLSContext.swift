import CTLS
import Glibc

/// What all TLS connections of a listener share: the server's certificate, its key, and the certificate authorities of
/// clients. The server speaks TLS 1.2 and 1.3 without compression, renegotiation and session tickets, and answers
/// http/1.1 to ALPN (RFC 7301).
///
/// It is a snapshot of its files. After a change of the files, a new context serves new connections; open connections
/// keep theirs. Any thread.
@safe package final class TLSContext: Sendable {
    /// Where the private key is.
    package enum Key: Sendable {
        /// In the certificate's file.
        case inCertificate
        /// A PEM file.
        case file(String)
        /// The bytes of a PEM file.
        case pem(String)
    }

    package struct Options: Sendable {
        /// The path of a PEM file: the server's certificate, then the ones that lead to a certificate authority.
        package var certificate: String
        /// nil: not known, which is enough for `problems`.
        package var key: Key?
        /// The path of a PEM file. With it, a client must have a certificate of one of these authorities.
        package var clientCA: String?

        package init(certificate: String, key: Key? = .inCertificate, clientCA: String? = nil) {
            self.certificate = certificate
            self.key = key
            self.clientCA = clientCA
        }
    }

    /// The time in which all certificates of the chain are valid, in seconds since 1970.
    package struct Validity: Sendable, Equatable {
        package var from: Int64
        package var until: Int64
    }

    /// The context of OpenSSL, which counts its references with atomics.
    nonisolated(unsafe) private let context: OpaquePointer
    package let validity: Validity

    /// Reads the files. Blocks on the filesystem.
    package convenience init(_ options: Options) throws(TLSError) {
        let loading = Loading()
        loading.load(options)
        if let problem = loading.problems.first { throw problem }
        guard let validity = loading.validity, options.key != nil else {
            throw TLSError(part: .key, path: nil, reason: .content("it is missing"))
        }
        unsafe self.init(taking: loading.release(), validity)
    }

    private init(taking context: OpaquePointer, _ validity: Validity) {
        unsafe self.context = unsafe context
        self.validity = validity
    }

    deinit { unsafe ctls_context_free(context) }

    /// All errors at once, and the validity of the certificate if it can be read. Blocks on the filesystem.
    package static func problems(of options: Options) -> (errors: [TLSError], validity: Validity?) {
        let loading = Loading()
        loading.load(options)
        return (loading.problems, loading.validity)
    }

    /// A session on a socket; nil: no memory.
    func makeSession(_ socket: Int32) -> OpaquePointer? { unsafe ctls_session_make(context, socket) }

    /// The most bytes of a PEM file.
    static let longest = 1 << 20

    /// A context while its files are read.
    @safe private final class Loading {
        private var context: OpaquePointer?
        private(set) var problems: [TLSError] = []
        private(set) var validity: Validity?

        init() {
            unsafe context = unsafe ctls_context_make()
            precondition(unsafe context != nil, "no memory for a TLS context")
        }

        deinit { if let context = unsafe context { unsafe ctls_context_free(context) } }

        /// Gives up the context.
        func release() -> OpaquePointer {
            defer { unsafe context = nil }
            guard let context = unsafe context else { preconditionFailure("the context was released") }
            return unsafe context
        }

        func load(_ options: Options) {
            let chain = read(.certificate, options.certificate)
            if let chain {
                var found = ctls_validity()
                let isRead = unsafe use(.certificate, options.certificate, chain) { bytes, count, reason in
                    unsafe ctls_use_chain(context, bytes, count, &found, reason)
                }
                if isRead { validity = Validity(from: found.from, until: found.until) }
            }
            let key: (path: String?, bytes: [UInt8]?)? =
                switch options.key {
                case .inCertificate: (options.certificate, chain)
                case .file(let path): (path, read(.key, path))
                case .pem(let text): (nil, Array(text.utf8))
                case nil: nil
                }
            if let (path, bytes) = key, let bytes {
                unsafe use(.key, path, bytes) { bytes, count, reason in
                    unsafe ctls_use_key(context, bytes, count, reason)
                }
            }
            if let path = options.clientCA, let bytes = read(.clientCA, path) {
                unsafe use(.clientCA, path, bytes) { bytes, count, reason in
                    unsafe ctls_require_clients(context, bytes, count, reason)
                }
            }
        }

        @discardableResult
        private func use(
            _ part: TLSError.Part, _ path: String?, _ bytes: [UInt8],
            _ load: (UnsafeRawPointer?, Int, UnsafeMutablePointer<ctls_text>) -> Int32
        ) -> Bool {
            var reason = ctls_text()
            let done = unsafe bytes.withUnsafeBytes { unsafe load($0.baseAddress, $0.count, &reason) }
            if done == 0 { return true }
            let text = unsafe withUnsafeBytes(of: reason) { unsafe Array($0.prefix { $0 != 0 }) }
            problems.append(TLSError(part: part, path: path, reason: .content(String(decoding: text, as: UTF8.self))))
            return false
        }

        private func read(_ part: TLSError.Part, _ path: String) -> [UInt8]? {
            do throws(SystemError) {
                // Not blocking: a named pipe would wait for its writer.
                let file = try FileDescriptor.openWithoutWaiting(path)
                guard try file.size() != nil else {
                    problems.append(TLSError(part: part, path: path, reason: .notARegularFile))
                    return nil
                }
                let bytes = try file.read(upTo: TLSContext.longest + 1)
                if bytes.count <= TLSContext.longest { return bytes }
                problems.append(TLSError(part: part, path: path, reason: .tooLong))
            } catch {
                problems.append(TLSError(part: part, path: path, reason: .unreadable(error)))
            }
            return nil
        }
    }
}
