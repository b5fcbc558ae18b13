import Platform

/// The checks of a conformance run: each tries on a plugin what a host may do, and finds out whether the plugin keeps
/// the contract of penstock_plugin.h.
package struct ConformanceChecks {
    package enum Verdict: Sendable, Equatable {
        case passed
        case failed(String)
        /// The check says nothing about this plugin.
        case skipped(String)
    }

    private let checks: [(title: String, run: () throws -> Void)]

    package init(_ checks: [(String, () throws -> Void)]) {
        self.checks = checks.map { (title: $0.0, run: $0.1) }
    }

    /// - Parameter report: called after each check.
    /// - Returns: whether no check failed.
    package func run(_ report: (_ check: String, Verdict) -> Void) -> Bool {
        var conforms = true
        for (title, check) in checks {
            var verdict = Verdict.passed
            do {
                try check()
            } catch let found as Nonconformance {
                verdict = .failed(found.text)
            } catch let found as NotApplicable {
                verdict = .skipped(found.text)
            } catch {
                verdict = .failed("\(error)")
            }
            if case .failed = verdict { conforms = false }
            report(title, verdict)
        }
        return conforms
    }
}

/// What a plugin did that the contract does not allow.
package struct Nonconformance: Error {
    package let text: String
    package init(_ text: String) { self.text = text }
}

/// Why a check says nothing about this plugin.
package struct NotApplicable: Error {
    package let text: String
    package init(_ text: String) { self.text = text }
}
