import Configuration

/// Prints test results for people.
package struct TestText {
    private let paint: ANSIStyle

    package init(_ paint: ANSIStyle) { self.paint = paint }

    package func render(_ report: TestReport) -> String {
        var lines = [paint(report.file, .bold)]
        for outcome in report.outcomes {
            let place = outcome.test.place
            if outcome.holds {
                lines.append("  " + paint("✓ ", .green) + paint(outcome.test.name))
            } else {
                lines.append(
                    "  " + paint("✗ ", .red) + paint(outcome.test.name)
                        + paint("  \(place.file):\(place.line)", .dim))
                lines += outcome.failures.flatMap(render).map { $0.isEmpty ? "" : "      " + $0 }
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private func render(_ failure: TestFailure) -> [String] {
        [paint(failure.summary)] + details(failure).map { $0.isEmpty ? "" : "  " + $0 }
    }

    func details(_ failure: TestFailure) -> [String] {
        var rows = AlignedRows(widest: 40)
        for change in failure.changes {
            let path = change.path.isEmpty ? "the whole" : change.path
            // If the value is missing on one side, only the other side is printed.
            if let before = change.before {
                rows.add(("- " + path, .red), (before.spacedText, .red), ("expected", .dim))
            }
            if let after = change.after {
                rows.add(
                    ("+ " + path, .green), (after.spacedText, .green),
                    (change.before == nil ? "not expected" : "got", .dim))
            }
        }
        return rows.lines(paint) + failure.explanation.flatMap { ExplanationText(paint).lines($0) }
    }
}
