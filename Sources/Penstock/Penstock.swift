// Penstock: the SDK with which an application records analytics events. Foundation's essentials and
// the standard library are all that it needs, and none of the daemon's rooms.
//
// An event is encoded once, where it is recorded, into the line of JSON that goes on the wire; from
// there on it is that line (`RecordedEvent`). `Analytics` hands it to every provider in the thread
// that recorded it, so that each thread's events keep their order, and a provider does its waiting
// elsewhere.
//
// - Recording never throws, never waits for a network or a disk, and holds no lock while the
//   application's own code runs: events that encode themselves, middleware, providers.
// - What is written is JSON that the daemon accepts, or nothing: what cannot be said is reported to
//   the diagnostics handler, and counted.
// - Nothing is dropped silently; every queue has a bound with a name in `Analytics.Options`.

/// What the SDK calls itself on the wire, in `context.library`.
enum Library {
    static let name = "penstock-swift"
    static let version = "0.6.0"
}
