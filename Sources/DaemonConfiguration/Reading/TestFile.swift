import Events
import Routing

/// An operator's tests of a configuration: events in, and the expected result. Reading checks only that the tests are
/// valid; the test runner decides whether they pass.
package struct TestFile: Sendable {
    /// As given.
    package var path: String
    /// The receive time of events, unless a test sets its own, in nanoseconds since 1970-01-01 UTC.
    package var now: Int64 = TestFile.usualTime
    /// Stand-ins for secrets, by name.
    package var secrets: [String: String] = [:]
    package var tests: [ConfigurationTest] = []

    /// 2026-01-01T00:00:00Z.
    package static let usualTime: Int64 = 1_767_225_600 * 1_000_000_000
}

package struct ConfigurationTest: Sendable {
    package var name: String
    /// The test's place in its file.
    package var place: Place
    package var now: Int64?
    /// The source that the events come through; nil: the first source.
    package var source: Named?
    /// The process that sends the events; nil: the kernel does not name it, as for a TCP socket.
    package var peer: TestPeer?
    /// In order, each as a client would send it.
    package var events: [String] = []
    /// If set, every event must be refused with this reason.
    package var refused: String?
    /// By destination.
    package var expectations: [ExpectedDelivery] = []
    /// Destinations that are not named must get nothing.
    package var othersGetNothing = false

    /// A name to be looked up in the configuration.
    package struct Named: Sendable {
        package var name: String
        package var place: Place
    }
}

/// A process as the kernel names it to a Unix socket, for previews of events.
package struct TestPeer: Sendable, Equatable {
    /// The uids and gids that a user or a group may have: all but the highest, which stands for none (chown(2)).
    package static let ids = 0...Int(UInt32.max) - 1
    package static let pids = 0...Int(Int32.max)

    package var uid: UInt32
    package var gid: UInt32
    package var pid: Int32
    /// The user's name; nil: the user has none.
    package var user: String?

    /// Values that do not fit are clamped.
    /// - Parameters:
    ///   - gid: nil: the number of the user, as for a user with a group of the same name.
    ///   - pid: nil: 0.
    package init(uid: Int, gid: Int? = nil, pid: Int? = nil, user: String? = nil) {
        self.uid = UInt32(clamping: uid)
        self.gid = UInt32(clamping: gid ?? uid)
        self.pid = Int32(clamping: pid ?? 0)
        self.user = user
    }
}

/// What one destination must get.
package struct ExpectedDelivery: Sendable {
    package enum Match: String, Sendable, CaseIterable {
        /// Further members may be present.
        case subset
        case whole
    }

    package struct Request: Sendable {
        package var method: String?
        package var url: String?
        /// A nil value means that the request must not have the header.
        package var headers: [(name: String, value: String?)] = []
        package var body: String?
        /// The body is text rather than JSON.
        package var bodyIsText = false
    }

    package var destination: ConfigurationTest.Named
    /// It must get nothing.
    package var nothing = false
    /// It must get nothing, for this reason.
    package var droppedBy: String?
    /// The events must become dead letters whose reason holds this text.
    package var rejected: String?
    /// Exactly these events, as JSON.
    package var events: [String]?
    /// Fields that no event may have.
    package var absent: [FieldPath] = []
    package var match = Match.subset
    /// Exactly these requests.
    package var requests: [Request]?
    /// Exactly these files get the events, in the order of each file's first event.
    package var files: [String]?

    init(_ destination: ConfigurationTest.Named) { self.destination = destination }
}

/// The result of reading a test file.
package struct TestFileResult: Sendable {
    /// Nil if there is an error.
    package var file: TestFile? { diagnostics.contains { $0.severity == .error } ? nil : draft }
    package var diagnostics: [Diagnostic]
    /// The parts that could be read.
    private var draft: TestFile

    /// Stand-ins for secrets, by name.
    package var secrets: [String: String] { draft.secrets }

    /// The diagnostics, together with those of names that are missing in the configuration, by place.
    package func diagnostics(in configuration: Configuration) -> [Diagnostic] {
        (diagnostics + draft.problems(in: configuration)).ordered(by: [draft.path])
    }

    package static func load(_ path: String) -> TestFileResult {
        let diagnostics = Diagnostics()
        let file = ConfigurationFile.read(path, diagnostics)
        return load(file, path, diagnostics)
    }

    package static func load(text: String, named name: String) -> TestFileResult {
        let diagnostics = Diagnostics()
        return load(ConfigurationFile.decode(Array(text.utf8), path: name, diagnostics), name, diagnostics)
    }

    private static func load(_ file: ConfigurationFile?, _ path: String, _ diagnostics: Diagnostics) -> TestFileResult {
        var tests = TestFile(path: path)
        if let file {
            switch YAMLComposer.compose(file, diagnostics) {
            case .root(let root): Section.testFile.read(root, named: "a test file", into: &tests, diagnostics)
            case .empty:
                diagnostics.error(
                    at: file.place(line: 1, column: 1), "there is no test in this file", hint: "add tests: [ … ]")
            case .broken: break
            }
        }
        return TestFileResult(diagnostics: diagnostics.ordered(by: [path]), draft: tests)
    }
}

extension TestFile {
    /// Names used here that do not exist in the configuration.
    package func problems(in configuration: Configuration) -> [Diagnostic] {
        let diagnostics = Diagnostics()
        func checkExists(_ kind: Configuration.NamedKind, _ named: ConfigurationTest.Named?) {
            guard let named, let absence = configuration.absence(of: kind, named.name) else { return }
            diagnostics.error(at: named.place, absence.message, hint: absence.hint)
        }
        for test in tests {
            checkExists(.source, test.source)
            for expectation in test.expectations {
                checkExists(.destination, expectation.destination)
                guard
                    let destination = configuration.destinations.first(where: {
                        $0.name == expectation.destination.name
                    })
                else {
                    continue
                }
                var isHTTP = false
                if case .http = destination.kind { isHTTP = true }
                var isFile = false
                if case .file = destination.kind { isFile = true }
                if expectation.requests != nil, !isHTTP {
                    diagnostics.error(
                        at: expectation.destination.place, "\(quoted(destination.name)) sends no requests",
                        hint: "only an HTTP destination does; expect event: or events:")
                }
                if expectation.files != nil, !isFile {
                    diagnostics.error(
                        at: expectation.destination.place, "\(quoted(destination.name)) writes no file",
                        hint: "remove file:")
                }
            }
        }
        return diagnostics.list
    }
}
