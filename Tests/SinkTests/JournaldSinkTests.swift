import Delivery
import Destinations
import Foundation
import PluginTesting
import Testing

/// The settings of the journald plugin. `service-checks.d/journald.bash` tests it with a real journald.
@Suite struct JournaldSinkTests {
    let directory: PluginTestDirectory

    init() throws {
        directory = try PluginTestDirectory()
        try directory.addBuilt("libjournald.so")
    }

    private func error(_ settings: String) throws -> String {
        let stage = try PluginStage("journald", in: directory, settings: settings)
        do {
            _ = try stage.destination.open(from: Cursor(position: 0))
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        (#"{"priority":"loud"}"#, "settings.priority"),
        (#"{"identifier":"a\nb"}"#, "settings.identifier: must be one line"),
        (#"{"fields":{"lower":"a"}}"#, "settings.fields.lower: a field's name is at most 64 of A-Z, 0-9 and _"),
        (#"{"fields":{"_PID":"a"}}"#, "settings.fields._PID: a field's name"),
        (#"{"fields":{"1A":"a"}}"#, "settings.fields.1A: a field's name"),
        (#"{"fields":{"\#(String(repeating: "A", count: 65))":"a"}}"#, "a field's name is at most 64"),
        (#"{"fields":{"MESSAGE":"a"}}"#, "settings.fields.MESSAGE: the plugin sets this field itself"),
        (#"{"fields":{"PENSTOCK_X":"a"}}"#, "settings.fields.PENSTOCK_X: the plugin sets this field itself"),
        (#"{"fields":{"A":"a..b"}}"#, #"settings.fields.A: "a..b" must be names with a . between them"#),
        (#"{"fields":{"A":""}}"#, "settings.fields.A"),
        (#"{"fields":{"A":7}}"#, "settings.fields.A"),
        (#"{"unknown":1}"#, "settings.unknown"),
    ])
    func `bad settings are named`(settings: String, words: String) throws {
        let text = try error(settings)
        #expect(text.contains(words), "\(text)")
    }

    @Test func `good settings are accepted, and a machine without journald is named`() throws {
        let text = try error(#"{"priority":"err","identifier":"shop","fields":{"ORDER_ID":"$.properties.id"}}"#)
        let socket = "/run/systemd/journal/socket"
        if FileManager.default.fileExists(atPath: socket) {
            #expect(text == "none")
        } else {
            #expect(text.hasSuffix("journald does not run: \(socket): No such file or directory"))
        }
    }
}
