import Delivery
import Destinations
import PluginTesting
import Testing

@testable import PluginHosting

@Suite struct SettingsSchemaTests {
    static let schema = """
        {"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string", "minLength": 1, "description": "where it lies"}, "mode": {"enum": ["fast", "safe", 3, null]},
            "size": {"type": "integer", "minimum": 1, "maximum": 10}, "rate": {"type": "number"},
            "on": {"type": "boolean"}, "either": {"type": ["string", "null"]},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 3}},
            "inner": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}}
        """

    @Test(arguments: [
        (#"{"path":"/x"}"#, []),
        (
            #"{"path":"/x","mode":"safe","size":10,"rate":1.5,"on":true,"either":null,"tags":["a"],"inner":{"a":1,"b":2}}"#,
            []
        ),
        (#"{"path":"/x","mode":3,"size":1.0,"rate":2}"#, []),
        (#"{}"#, ["settings.path: is required; add path: where it lies"]),
        (#"{"path":""}"#, ["settings.path: must not be empty"]),
        (#"{"path":1}"#, ["settings.path: must be of type string, but is of type integer"]),
        (#"{"path":"/x","on":1}"#, ["settings.on: must be of type boolean, but is of type integer"]),
        (#"{"path":"/x","size":true}"#, ["settings.size: must be of type integer, but is of type boolean"]),
        (#"{"path":"/x","size":1.5}"#, ["settings.size: must be of type integer, but is of type number"]),
        (#"{"path":"/x","size":0}"#, ["settings.size: must be at least 1"]),
        (#"{"path":"/x","size":11}"#, ["settings.size: must be at most 10"]),
        (#"{"path":"/x","mode":"secret"}"#, [#"settings.mode: must be one of "fast", "safe", 3, null"#]),
        (#"{"path":"/x","either":3}"#, ["settings.either: must be of type string or null, but is of type integer"]),
        (#"{"path":"/x","tags":["abc","abcd"]}"#, ["settings.tags[1]: must have at most 3 characters"]),
        (#"{"path":"/x","inner":{}}"#, ["settings.inner.a: is required"]),
        (
            #"{"pth":"/x","size":0}"#,
            [
                "settings.path: is required; add path: where it lies",
                "settings.pth: is not a setting of this plugin; did you mean \"path\"?",
                "settings.size: must be at least 1",
            ]
        ),
        (#"[]"#, ["settings: must be of type object, but is of type array"]),
        (#"{"path""#, ["settings: is not valid JSON"]),
    ])
    func `every violation is named with its path`(settings: String, expected: [String]) throws {
        #expect(try SettingsSchema(Self.schema, of: "test").violations(in: settings).map(\.description) == expected)
    }

    @Test(arguments: [
        #"{"type": "object", "properties": {"a": {"pattern": "x"}}}"#, #"{"anyOf": []}"#, #"{"items": {"oneOf": []}}"#,
        #"[]"#,
        "nonsense",
    ])
    func `a schema with unsupported keywords is an error of the plugin`(schema: String) {
        let error = #expect(throws: PluginError.self) { try SettingsSchema(schema, of: "test") }
        #expect(error?.code == .incompatible)
    }

    @Test func `a schema that is too long or too deep to parse is an error of the plugin`() throws {
        let nested = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
        for schema in [#"{"enum": [\#(nested)]}"#, #"{"title": "\#(String(repeating: "x", count: 1 << 16))"}"#] {
            let error = #expect(throws: PluginError.self) { try SettingsSchema(schema, of: "test") }
            #expect(error?.description.contains("more than 64 KiB or 32 levels") == true)
        }
        // Brackets in texts are no levels.
        _ = try SettingsSchema(#"{"title": "\#(String(repeating: "[\\\"", count: 100))"}"#, of: "test")
    }

    @Test func `a message lists only the first of many choices`() throws {
        let names = (0..<1000).map { #""n\#($0)": {}"# }.joined(separator: ",")
        let schema = try SettingsSchema(
            #"{"additionalProperties": false, "properties": {\#(names)}}"#, of: "test")
        #expect(schema.violations(in: #"{"x": 1}"#).first?.description.hasSuffix("and 980 more") == true)
    }

    @Test func `a plugin's texts control no terminal`() {
        #expect(PluginText.printable("a\u{1B}[31m\u{7}\nb\u{202E}c", limit: 100) == "a?[31m??b?c")
        #expect(PluginText.printable("a\nb", limit: 100, lines: true) == "a\nb")
        #expect(PluginText.printable("abcdef", limit: 3) == "abc…")
    }

    @Test func `a plugin gets no invalid settings`() throws {
        let directory = try PluginTestDirectory()
        try directory.addMisbehaving()
        let error = #expect(throws: PluginError.self) {
            let stage = try PluginStage(in: directory, settings: #"{"mode":1,"colour":"red"}"#)
            _ = try stage.destination.open(from: Cursor(position: 0))
        }
        #expect(error?.code == .settings)
        #expect(
            error?.description
                == "settings.colour: is not a setting of this plugin; it takes mode, position; settings.mode: must be of type string, but is of type integer"
        )
    }

    @Test func `a plugin with an unreadable schema is not used`() throws {
        let directory = try PluginTestDirectory()
        try directory.addMisbehaving("BROKEN_SCHEMA")
        let error = #expect(throws: PluginError.self) {
            _ = try PluginStage(in: directory).destination.open(from: Cursor(position: 0))
        }
        #expect(error?.code == .incompatible)
        #expect(error?.description.contains("patternProperties") == true)
    }

    @Test(arguments: [
        (#"{"file":"a.db","n":1}"#, #"{"file":"/etc/x/a.db","n":1}"#),
        (#"{ "file": "/var/a.db" }"#, #"{ "file": "/var/a.db" }"#),
        (#"{"name":"a.db"}"#, #"{"name":"a.db"}"#),
        (#"{"file":"q\"ä\\.db"}"#, #"{"file":"/etc/x/q\"ä\\.db"}"#),
        ("nonsense", "nonsense"),
    ])
    func `a relative path becomes absolute where the schema declares a path`(settings: String, expected: String) throws
    {
        let schema =
            #"{"type":"object","properties":{"file":{"type":"string","format":"path"},"name":{"type":"string"}}}"#
        #expect(try SettingsSchema(schema, of: "test").resolvingPaths(in: settings, from: "/etc/x") == expected)
    }
}
