import DaemonConfiguration
import Platform

/// Test results as JUnit XML, for continuous integration.
package enum JUnitReport {
    package static func render(_ reports: [TestReport]) -> String {
        let tests = reports.reduce(0) { $0 + $1.outcomes.count }
        let failed = reports.reduce(0) { $0 + $1.failed }
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<testsuites name="penstock" tests="\#(tests)" failures="\#(failed)">"#,
        ]
        for report in reports {
            lines.append(
                #"  <testsuite name="\#(escaped(report.file))" tests="\#(report.outcomes.count)" "#
                    + #"failures="\#(report.failed)" errors="0" "#
                    + #"time="\#(seconds(report.outcomes.reduce(0) { $0 + $1.duration }))">"#
            )
            for outcome in report.outcomes { lines += render(outcome, report.file) }
            lines.append("  </testsuite>")
        }
        return (lines + ["</testsuites>"]).map { $0 + "\n" }.joined()
    }

    private static func render(_ outcome: TestOutcome, _ file: String) -> [String] {
        let start =
            #"    <testcase name="\#(escaped(outcome.test.name))" classname="\#(escaped(file))" "#
            + #"file="\#(escaped(file))" line="\#(outcome.test.place.line)" time="\#(seconds(outcome.duration))""#
        if outcome.holds { return [start + "/>"] }
        let text = TestText(ANSIStyle(isOn: false))
        let failures = outcome.failures.map { failure in
            let details = text.details(failure).joined(separator: "\n")
            return #"      <failure message="\#(escaped(failure.summary))">\#(escaped(details))</failure>"#
        }
        return [start + ">"] + failures + ["    </testcase>"]
    }

    /// Rounded to milliseconds.
    private static func seconds(_ duration: Double) -> String { "\((duration * 1_000).rounded() / 1_000)" }

    /// Escapes text for an attribute or an element. Characters that XML 1.0 does not allow become U+FFFD.
    private static func escaped(_ text: String) -> String {
        var output = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "\n", "\t": output += "&#\(scalar.value);"
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": output += "\u{FFFD}"
            default: output.unicodeScalars.append(scalar)
            }
        }
        return output
    }
}
