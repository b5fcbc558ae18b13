import Foundation
import Synchronization

@testable import Penstock

/// Keeps all diagnostics.
final class Reports: Sendable {
    private let kept = Mutex<[Diagnostic]>([])
    var handler: DiagnosticsHandler {
        DiagnosticsHandler { diagnostic in self.kept.withLock { $0.append(diagnostic) } }
    }
    var all: [Diagnostic] { kept.withLock { $0 } }
    func of(_ code: Diagnostic.Code) -> [Diagnostic] { all.filter { $0.code == code } }
}

extension RecordedEvent {
    /// A track event "N" that carries its number.
    static func numbered(_ number: Int, thread: Int = 0, padding: Int = 0) -> RecordedEvent {
        let filling = String(repeating: "x", count: padding)
        let json =
            #"{"type":"track","event":"N","userId":"u","messageId":"\#(thread)-\#(number)","properties":{"thread":\#(thread),"number":\#(number),"filling":"\#(filling)"}}"#
        return RecordedEvent(kind: .track, consentCategory: .analytics, json: Array(json.utf8))
    }

    var number: Int? { self[property: "number"]?.int }
}

/// The numbers of such events in these lines.
func numbers(_ lines: [String]) -> [Int] {
    lines.compactMap { RecordedEvent(line: Array($0.utf8))?.number }
}

extension DaemonProvider.Options {
    /// Options for tests, with short delays.
    static func test(socket: String, spool: String?) -> DaemonProvider.Options {
        var options = DaemonProvider.Options(environment: [:])
        options.socket = socket
        options.spool = spool
        options.reconnectDelay = .milliseconds(1) ... .milliseconds(20)
        options.closingTimeout = .milliseconds(200)
        options.adoptionInterval = .milliseconds(50)
        return options
    }
}

extension DaemonProvider {
    /// Flushes with a generous timeout.
    func flush() async -> FlushOutcome { await flush(until: .now + .seconds(60)) }
}
