import ArgumentParser
import DaemonConfiguration
import Control
import Foundation

struct PresetsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presets",
        abstract: "List, show, make or test presets, the ready-made destinations for known services.",
        subcommands: [PresetsList.self, PresetsShow.self, PresetsNew.self, PresetsTest.self])
}

struct PresetsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the presets: those shipped with Penstock, and your own.",
        discussion: """
            Your own presets are files presets/NAME.yaml beside the configuration. Your preset replaces the shipped \
            preset of the same name; the column FROM shows that.

            Exit status: 0 listed, 1 a file of presets/ is not valid.
            """)

    @Option(
        name: .customLong("config"), help: "The configuration file, whose directory holds presets/.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Flag(help: "Print the list as JSON.")
    var json = false

    func run() throws {
        let (presets, problems) = PresetCatalogue.list(besides: file)
        for problem in problems { printError(problem.description) }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(presets.map(Listed.init)), as: UTF8.self))
        } else {
            var table = TextTable("NAME", "TITLE", "SETTINGS", "FROM", "DESCRIPTION")
            for preset in presets {
                let listed = Listed(preset)
                let settings = preset.settings.map { $0.isRequired ? $0.name : "[\($0.name)]" }.joined(separator: " ")
                table.add(preset.name, preset.title, settings, listed.from, preset.summary)
            }
            print(table.render(), terminator: "")
        }
        if !problems.isEmpty { throw ExitCode.failure }
    }

    private struct Listed: Encodable {
        struct Setting: Encodable {
            var name: String
            var description: String
            var required: Bool
            var secret: Bool
            var `default`: String?
            var values: [String]?
        }

        var name: String
        var title: String
        var description: String
        var documentation: String
        var from: String
        var settings: [Setting]

        init(_ preset: Preset) {
            name = preset.name
            title = preset.title
            description = preset.summary
            documentation = preset.documentation
            from =
                preset.isShipped
                ? "penstock" : PresetCatalogue.isReplaced(preset) ? "presets/, in place of Penstock's" : "presets/"
            settings = preset.settings.map {
                Setting(
                    name: $0.name, description: $0.summary, required: $0.isRequired, secret: $0.isSecret,
                    default: $0.defaultText,
                    values: $0.values.isEmpty ? nil : $0.values.map(\.name))
            }
        }
    }
}

struct PresetsShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a preset's file, as a template for your own.",
        discussion: """
            Exit status: 0 printed, 1 there is no such preset.

            Examples:
              penstock presets show webhook > /etc/penstock/presets/mine.yaml
            """)

    @Option(
        name: .customLong("config"), help: "The configuration file, whose directory holds presets/.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Argument(help: "The preset's name.", completion: .preset)
    var name: String

    func run() throws {
        let (presets, problems) = PresetCatalogue.list(besides: file)
        guard let preset = presets.first(where: { $0.name == name }) else {
            for problem in problems { printError(problem.description) }
            let nearest = PresetCatalogue.nearest(to: name, among: presets).map { "did you mean \"\($0)\"?" }
            throw ReportedError(
                "there is no preset \"\(name)\"; \(nearest ?? "penstock presets list shows all presets")")
        }
        print(preset.text, terminator: "")
    }
}
