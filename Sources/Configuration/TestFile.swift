import Events
import Routing

/// Tests of a configuration, as an operator wrote them: events in, and what is to come of them. Found
/// to mean something; whether it holds is for whoever runs them to say.
package struct TestFile: Sendable {
    /// As it was given.
    package var path: String
    /// When events are received, unless a test says otherwise: nanoseconds since 1970-01-01 UTC.
    package var now: Int64 = TestFile.usualTime
    /// What stands in place of secrets, by name.
    package var secrets: [String: String] = [:]
    package var tests: [ConfigurationTest] = []

    /// 2026-01-01T00:00:00Z.
    package static let usualTime: Int64 = 1_767_225_600 * 1_000_000_000
}

package struct ConfigurationTest: Sendable {
    package var name: String
    /// Of the test in its file.
    package var place: Place
    package var now: Int64?
    /// The source that the events come through; nil: the first.
    package var source: Named?
    /// In their order; each as a client would send it.
    package var events: [String] = []
    /// That every event is refused, and why.
    package var refused: String?
    /// By destination.
    package var expectations: [ExpectedDelivery] = []
    /// Destinations that are not named get nothing.
    package var othersGetNothing = false

    /// A name of the configuration's, to be looked up in it.
    package struct Named: Sendable {
        package var name: String
        package var place: Place
    }
}

/// What one destination is to get.
package struct ExpectedDelivery: Sendable {
    package enum Match: String, Sendable, CaseIterable {
        /// What is not named may be there, too.
        case subset
        case whole
    }

    package struct Request: Sendable {
        package var method: String?
        package var url: String?
        /// nil: the request must not have it.
        package var headers: [(name: String, value: String?)] = []
        package var body: String?
        /// The body is a text and not JSON.
        package var bodyIsText = false
    }

    package var destination: ConfigurationTest.Named
    /// It gets nothing.
    package var nothing = false
    /// It gets nothing, for this reason.
    package var droppedBy: String?
    /// Events become dead letters, with a reason that holds this text.
    package var rejected: String?
    /// Exactly these events, as JSON.
    package var events: [String]?
    /// Fields that none of the events has.
    package var absent: [FieldPath] = []
    package var match = Match.subset
    /// Exactly these requests.
    package var requests: [Request]?
    /// Exactly these files get them, in the order of the first event of each.
    package var files: [String]?

    init(_ destination: ConfigurationTest.Named) { self.destination = destination }
}

/// What reading a test file gave.
package struct TestFileResult: Sendable {
    /// Nil if there is an error.
    package var file: TestFile? { diagnostics.contains { $0.severity == .error } ? nil : draft }
    package var diagnostics: [Diagnostic]
    /// What could be made sense of.
    private var draft: TestFile

    /// What stands in place of secrets, by name.
    package var secrets: [String: String] { draft.secrets }

    /// The same and what it names that is not in the configuration, by place.
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
            case .empty: diagnostics.error(at: file.place(line: 1, column: 1), "there is no test in this file", hint: "add tests: [ … ]")
            case .broken: break
            }
        }
        return TestFileResult(diagnostics: diagnostics.ordered(by: [path]), draft: tests)
    }
}

extension TestFile {
    /// What is named here and does not exist in the configuration.
    package func problems(in configuration: Configuration) -> [Diagnostic] {
        let diagnostics = Diagnostics()
        func look(_ kind: Configuration.NamedKind, _ named: ConfigurationTest.Named?) {
            guard let named, let absence = configuration.absence(of: kind, named.name) else { return }
            diagnostics.error(at: named.place, absence.message, hint: absence.hint)
        }
        for test in tests {
            look(.source, test.source)
            for expectation in test.expectations {
                look(.destination, expectation.destination)
                guard let destination = configuration.destinations.first(where: { $0.name == expectation.destination.name }) else {
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
                        at: expectation.destination.place, "\(quoted(destination.name)) writes no file", hint: "remove file:")
                }
            }
        }
        return diagnostics.list
    }
}
