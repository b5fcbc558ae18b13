import ArgumentParser
import Foundation

struct PresetsNew: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "written", 1: "the command cannot be read, or the file exists or cannot be written",
    ]

    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a preset of an example request: a curl command.",
        discussion: """
            Reads the command from stdin, as the documentation of services shows it, and writes presets/NAME.yaml \
            beside the configuration. Credentials become secret settings. Members of the body whose names are known \
            become fields of the event. The rest stays as in the example: edit it, and try it with penstock explain.

            \(exitCodes)

            Examples:
              penstock presets new crm < curl.txt
            """)

    @Option(
        name: .customLong("config"), help: "The configuration file, whose directory holds presets/.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Argument(help: "The preset's name.")
    var name: String

    func validate() throws {
        guard name.first?.isLetter == true, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") })
        else { throw ValidationError("\"\(name)\" is not a preset's name: use letters, digits and \"_\"") }
    }

    func run() throws {
        let text = String(decoding: FileHandle.standardInput.readDataToEndOfFile(), as: UTF8.self)
        let command: CurlCommand
        do {
            command = try CurlCommand(text)
        } catch {
            throw ReportedError("the request cannot be read: \(error)")
        }
        let directory = URL(fileURLWithPath: file).deletingLastPathComponent().appending(path: "presets")
        let path = directory.appending(path: "\(name).yaml")
        guard !FileManager.default.fileExists(atPath: path.path) else {
            throw ReportedError("\(path.path) exists: choose another name, or remove it")
        }
        let draft = PresetDraft(name, of: command)
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data(draft.text.utf8).write(to: path, options: .withoutOverwriting)
        } catch {
            throw ReportedError("\(path.path) cannot be written: \(error.localizedDescription)")
        }
        print("wrote \(path.path)")
        print("next: edit it (see that no credential is left), and add a destination with preset: \(name);")
        print("then penstock explain EVENT shows the request")
    }
}
