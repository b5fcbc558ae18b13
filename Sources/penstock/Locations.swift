import ArgumentParser
import ConfigurationSyntax
import Platform

/// The paths of the shipped configuration.
enum Locations {
    static let configuration = "/etc/penstock/penstock.yaml"
    static let events = "/run/penstock/events.sock"
    static let control = "/run/penstock/control.sock"

    /// The environment variable with the source's socket. The SDK reads it, too.
    static let eventsVariable = "PENSTOCK_SOCKET"
}

/// The daemon's socket for events, and how long to wait for it.
struct SocketOption: ParsableArguments {
    @Option(
        name: .customLong("socket"),
        help: ArgumentHelp(
            "The source's socket. Default: $\(Locations.eventsVariable), or \(Locations.events) if that is not set.",
            valueName: "path"), completion: .file())
    var given: String?

    @Option(
        help: ArgumentHelp(
            "Give up when the daemon makes no progress for this long: 500ms, 10s, 2m. 0 waits without limit.",
            valueName: "duration"))
    var timeout = Patience.usual

    var path: String { given ?? Self.fromEnvironment ?? Locations.events }

    /// An empty variable counts as not set, as in the SDK.
    private static var fromEnvironment: String? {
        Environment.value(Locations.eventsVariable).flatMap { $0.isEmpty ? nil : $0 }
    }
}

struct ControlOption: ParsableArguments {
    @Option(name: .customLong("control"), help: "The daemon's control socket.", completion: .file())
    var path = Locations.control
}

/// How long a command waits for progress.
struct Patience: ExpressibleByArgument, CustomStringConvertible {
    static let usual = Patience(limit: .seconds(10))

    /// Nil: no limit.
    let limit: Duration?

    private init(limit: Duration?) { self.limit = limit }

    init?(argument: String) {
        guard argument != "0" else {
            self.init(limit: nil)
            return
        }
        guard let limit = Quantity.duration(argument), limit > .zero else { return nil }
        self.init(limit: limit)
    }

    var description: String { limit.map(Quantity.text) ?? "0" }
    var defaultValueDescription: String { description }
}
