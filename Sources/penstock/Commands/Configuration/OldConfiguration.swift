import DaemonConfiguration
import Control
import Explanation
import Platform

/// The configurations of `penstock diff`.
enum OldConfiguration {
    /// The configuration to compare with: the named file; else the running one; else the installed file.
    static func load(against file: String?, control: ControlOption) throws -> Configuration {
        if let file { return try load(file: file) }
        guard let report = try running(control) else {
            printError(
                "the daemon does not run, so the new configuration is compared with \(Locations.configuration):"
                    + " give --against to compare it with another file")
            return try load(file: Locations.configuration)
        }
        let texts = try report.files.filter { $0.state != .added }.map { file in
            guard let text = file.running, let kind = ConfigurationText.Kind(rawValue: file.kind.rawValue) else {
                throw ReportedError(
                    "the daemon does not show \(file.path): \(file.problem ?? "its text is missing");"
                        + " give --against with a copy of the running configuration")
            }
            return ConfigurationText(kind: kind, path: file.path, text: text)
        }
        return try accept(ConfigurationLoader.withStandIns().load(texts: texts, of: report.file))
    }

    static func load(file: String) throws -> Configuration {
        try accept(ConfigurationLoader.withStandIns().load(file: file))
    }

    private static func accept(_ loaded: LoadResult) throws -> Configuration {
        guard let configuration = loaded.configuration else {
            throw ReportedError(loaded.errors.map(\.description).joined(separator: "\n"))
        }
        return configuration
    }

    /// nil: the daemon does not run.
    private static func running(_ control: ControlOption) throws -> ConfigurationReport? {
        let answer: ControlAnswer
        do throws(ControlClientError) {
            answer = try ControlClient(socket: control.path).get("/configuration")
        } catch {
            guard error.code == .notRunning else { throw ReportedError("\(error)") }
            return nil
        }
        guard answer.isSuccess else { throw ReportedError(answer.error) }
        return try answer.decode(ConfigurationReport.self)
    }
}
