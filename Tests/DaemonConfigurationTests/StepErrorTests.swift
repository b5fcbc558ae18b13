import Testing

@testable import DaemonConfiguration

/// One configuration with a mistake of every kind. All are reported at once, each at its own place.
@Suite("Mistakes in transforms, filters, scripts and mappings")
struct StepErrorTests {
    @Test func `every mistake is reported at its place`() {
        let text = #"""
            sources:
              apps: { socket: e.sock, scrub: [ { sample: 50% } ] }
            pipeline:
              - hahs: { paths: [context.ip] }
              - hash: { path: [context.ip] }
            routes:
              - where: typ = "track" and evnt(
                transforms:
                  - drop: properties.debug
                  - rename: { properties.a: 5 }
                  - sample: 150%
                  - name_case: sneak
                  - lua: |
                      local x = 
                      return event
                  - redact: { find: [emial], patterns: ["(a+"] }
                    where: propertis.x = 1 or
                  - throttle: { events: 0, every: 1s }
                to: [out, otu]
            destinations:
              out:
                file: /d/out.ndjson
                timed: natve
                mapping:
                  name: { $pth: $.event }
                  at: { $date: { value: $.timestamp, format: epoc } }
                  both: { $path: $.a, $literal: 1 }
                  t: "{{ userId }"
            """#
        let errors = load(text).diagnostics.filter { $0.severity == .error }
        #expect(
            errors.map { "\($0.place.line):\($0.place.column): error: \($0.message)" } == [
                #"2:38: error: the transform "sample" cannot be used here"#,
                #"4:5: error: unknown transform "hahs""#,
                #"5:11: error: "hash" needs "paths""#,
                #"5:13: error: unknown key "path" in "hash""#,
                #"7:30: error: unknown function evnt"#,
                #"9:15: error: "drop" must be a list with at least one item, not a single value"#,
                #"11:17: error: "sample" must be from 0.0 to 1.0"#,
                #"12:20: error: "name_case" must be one of snake, kebab, camel, title, upper_snake"#,
                #"15:11: error: Lua: unexpected symbol near 'return'"#,
                #"16:19: error: unknown key "find" in "redact""#,
                #"16:46: error: this is not a regular expression: missing ): (a+"#,
                #"17:34: error: unexpected end of the filter; expected a field, a value or ("#,
                #"18:29: error: "events" must be from 1 to 1000000000"#,
                #"19:15: error: there is no destination "otu""#,
                #"23:12: error: "timed" must be one of native, suffix, both, ignore"#,
                #"25:15: error: unknown directive $pth"#,
                "26:50: error: format must be one of rfc3339, date, epoch_seconds, epoch_milliseconds, "
                    + "epoch_microseconds, epoch_nanoseconds, epoch_decimal",
                #"27:27: error: two directives in one object: $path and $literal"#,
                #"28:11: error: expected }} after this path"#,
            ])
    }
}
