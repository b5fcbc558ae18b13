import ArgumentParser

/// Where the shipped configuration puts things.
enum Locations {
    static let configuration = "/etc/penstock/penstock.yaml"
    static let events = "/run/penstock/events.sock"
    static let control = "/run/penstock/control.sock"
}

struct SocketOption: ParsableArguments {
    @Option(name: .customLong("socket"), help: "The source's socket.")
    var path = Locations.events
}

struct ControlOption: ParsableArguments {
    @Option(name: .customLong("control"), help: "The daemon's control socket.")
    var path = Locations.control
}
