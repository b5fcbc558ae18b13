import DaemonConfiguration
import Platform

/// Renders test results for people.
package struct TestText {
    private let style: ANSIStyle

    package init(_ style: ANSIStyle) { self.style = style }

    package func render(_ report: TestReport) -> String {
        var lines = [style(report.file, .bold)]
        for outcome in report.outcomes {
            let place = outcome.test.place
            if outcome.holds {
                lines.append("  " + style("✓ ", .green) + style(outcome.test.name))
            } else {
                lines.append(
                    "  " + style("✗ ", .red) + style(outcome.test.name)
                        + style("  \(place.file):\(place.line)", .dim))
                lines += outcome.failures.flatMap(render).map { $0.isEmpty ? "" : "      " + $0 }
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func render(_ failure: TestFailure) -> [String] {
        [style(failure.summary)] + details(failure).map { $0.isEmpty ? "" : "  " + $0 }
    }

    func details(_ failure: TestFailure) -> [String] {
        var rows = AlignedRows(widest: 40)
        for change in failure.changes {
            let path = change.path.isEmpty ? "the whole" : change.path
            // If the value is missing on one side, only the other side is shown.
            if let before = change.before {
                rows.add(("- " + path, .red), (before.spacedText, .red), ("expected", .dim))
            }
            if let after = change.after {
                rows.add(
                    ("+ " + path, .green), (after.spacedText, .green),
                    (change.before == nil ? "not expected" : "got", .dim))
            }
        }
        return rows.lines(style) + failure.explanation.flatMap { ExplanationText(style).lines($0) }
    }
}
