import ConfigurationSyntax
import Synchronization
import Testing

@testable import DaemonConfiguration

/// The descriptions of keys are for the schema and the book.
@Suite struct LazyDescriptionTests {
    /// The description of destinations reads every preset, which takes longer than all else at a start.
    @Test func `reading a key does not make its description`() throws {
        let count = Counter()
        var kind = Kind<Bool>.flag
        let shape = kind.type
        kind.describe {
            count.add()
            return shape
        }
        let field = Field<Draft>("key", \.key, kind, "a key")
        var draft = Draft()
        let diagnostics = Diagnostics()
        let text = ConfigurationFile(path: "p.yaml", text: "key: true")
        guard case .root(let node) = YAMLComposer.compose(text, diagnostics) else {
            Issue.record("the text is not read")
            return
        }
        Section([field]).read(node, named: "the section", into: &draft, diagnostics)
        #expect(draft.key && count.value == 0)
        _ = field.describe(nil)
        #expect(count.value == 1)
    }

    private struct Draft: Sendable { var key = false }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        func add() { count.withLock { $0 += 1 } }
        var value: Int { count.withLock { $0 } }
    }
}
