import ArgumentParser
import Assembly
import DaemonConfiguration
import Explanation
import Foundation
import Platform

struct PresetsTest: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "everything that is sent was delivered", 1: "an event was not delivered",
        2: "the configuration is not valid",
    ]

    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Send one event of each kind to the real service, and show requests and answers.",
        discussion: """
            Sends with the credentials of the configuration, without the daemon and its journal. The events are those \
            of the user penstock-test; their name, if they have one, is Penstock Test. Secrets are not shown.

            \(exitCodes)

            Examples:
              penstock presets test mixpanel
              penstock presets test --kind track --kind identify crm
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable { case track, identify, page, screen, group, alias }

    @Option(
        name: .customLong("config"), help: "The configuration file; conf.d/*.yaml beside it is read, too.",
        completion: .configurationFile)
    var file = Locations.configuration

    @Option(name: .customLong("kind"), help: "Send only events of this kind.")
    var kinds: [Kind] = []

    @Argument(help: "The destination, or the preset that it uses.", completion: .configuredDestination)
    var name: String

    func run() throws {
        let shown = try load(ConfigurationLoader.withStandIns())
        let secret = try load(ConfigurationLoader(pluginDirectories: Installation.pluginDirectories))
        guard
            let destination = secret.destinations.first(where: { $0.name == name })
                ?? secret.destinations.first(where: { $0.preset?.name == name })
        else {
            throw failure("no destination has this name or uses this preset: \(name)")
        }
        guard case .http(let http) = destination.kind else {
            throw failure("\(destination.name) is not an HTTP destination, so there is no service to ask")
        }
        let delivery: TrialDelivery
        do {
            delivery = try TrialDelivery(http)
        } catch {
            throw failure("\(error)")
        }
        let only = [destination.name]
        let (viewer, sender) = (
            EventExplainer(shown, only: only, host: HostName.current),
            EventExplainer(secret, only: only, host: HostName.current)
        )
        var isDelivered = true
        for (number, kind) in (kinds.isEmpty ? Kind.allCases : kinds).enumerated() {
            let event = Array(Self.event(kind).utf8)
            let now = SystemClock().wallClock()
            if number > 0 { print("") }
            let style = ANSIStyle(isOn: stdoutTakesColour)
            print(
                ExplanationText(style).render(viewer.explain(event, position: UInt64(number), receivedAt: now)),
                terminator: "")
            guard
                case .accepted(let verdicts) = sender.explain(event, position: UInt64(number), receivedAt: now).verdict,
                let output = verdicts.first?.output, verdicts[0].isSent
            else { continue }
            let result = delivery.send(output)
            for answer in result.answers { print("    ← HTTP \(answer.status)  \(answer.excerpt)") }
            for verdict in result.verdicts {
                print("    \(Self.text(verdict))")
                if verdict != .delivered { isDelivered = false }
            }
        }
        if !isDelivered { throw Self.exitCodes[1] }
    }

    private func load(_ loader: ConfigurationLoader) throws -> Configuration {
        let loaded = loader.load(file: file)
        guard let configuration = loaded.configuration else {
            for error in loaded.errors { printError(error.description) }
            throw Self.exitCodes[2]
        }
        return configuration
    }

    private func failure(_ text: String) -> ExitCode {
        printError(text)
        return Self.exitCodes[2]
    }

    private static func text(_ verdict: TrialDelivery.Verdict) -> String {
        switch verdict {
        case .delivered: "✓ delivered"
        case .retried(let reason): "! would be sent again: \(reason)"
        case .held(let reason): "! would hold the destination: \(reason)"
        case .rejected(let reason): "✗ would become a dead letter: \(reason)"
        }
    }

    private static func event(_ kind: Kind) -> String {
        let user = #""userId":"penstock-test","anonymousId":"penstock-test-device","messageId":"\#(UUID())""#
        let own =
            switch kind {
            case .track: #""event":"Penstock Test","properties":{"note":"sent by penstock presets test"}"#
            case .identify: #""traits":{"name":"Penstock Test","plan":"test"}"#
            case .page: #""name":"Penstock Test","properties":{"url":"https://penstock.example/","path":"/"}"#
            case .screen: #""name":"Penstock Test","properties":{"note":"sent by penstock presets test"}"#
            case .group: #""groupId":"penstock-test-group","traits":{"name":"Penstock Test"}"#
            case .alias: #""previousId":"penstock-test-device""#
            }
        return #"{"type":"\#(kind.rawValue)",\#(user),\#(own)}"#
    }
}
