import Synchronization
import Testing

@testable import Penstock

@Suite struct LoggingProviderTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    /// The lines that the provider writes for an event.
    private func lines(_ json: String, redacts: Bool) throws -> [String] {
        let lines = Lines()
        let provider = LoggingProvider(redacts: redacts) { line in lines.all.withLock { $0.append(line) } }
        provider.record(try #require(RecordedEvent(line: Array(json.utf8))))
        return lines.all.withLock { $0 }
    }

    private static let order =
        #"{"type":"track","event":"Order\nDone","userId":"ada","properties":{"total":12.5,"items":[{"sku":"a"}]}}"#
    private static let identify = #"{"type":"identify","userId":"ada","traits":{"email":"a@b.example"}}"#
    private static let stop =
        #"{"type":"track","event":"Onboarding","anonymousId":"x","context":{"timing":{"id":"t","phase":"stop","duration":1.5}}}"#

    @Test func `an event is one line that its contents cannot forge`() throws {
        #expect(
            try lines(Self.order, redacts: false)
                == [#"track "Order\nDone" user="ada" properties={"items":[{"sku":"a"}],"total":12.5}"#])
        #expect(try lines(Self.stop, redacts: false) == [#"track "Onboarding" anonymous="x" stopped=1.5s"#])
    }

    @Test func `personal values are left out`() throws {
        #expect(
            try lines(Self.order, redacts: true) == [
                #"track "Order\nDone" user="…" properties={"items":"…","total":"…"}"#
            ])
        #expect(try lines(Self.identify, redacts: true) == [#"identify user="…" traits={"email":"…"}"#])
    }
}
