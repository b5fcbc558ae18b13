// Penstock: the SDK with which an application records analytics events. It depends on Foundation and the standard
// library only, and on none of the daemon's modules.
//
// An event is encoded once, in the thread that records it, into the line of JSON that is sent (`RecordedEvent`).
// `Analytics` passes this line to every provider in the same thread, so each thread's events keep their order. A
// provider does all waiting in its own thread.
//
// Invariants:
//
// - Recording never throws and never waits for a network or a disk. No lock is held while the application's own code
//   runs: `encode(to:)` of events, middleware, providers.
// - The SDK writes JSON that the daemon accepts, or nothing. An event that cannot be encoded is reported to the
//   diagnostics handler and counted.
// - No event is dropped silently. Every queue has a limit, which is a named option in `Analytics.Options` or in the
//   options of its provider.
//
// `Providers/` holds the providers. `DaemonProvider` has four parts: `DaemonSession` is a pure state machine that
// decides what to send and what to spool; `DaemonWorker` performs these decisions in its own thread; `Spool` keeps
// events on disk; `DaemonClient` connects that thread with the threads that record.

/// The name and version of this SDK, as reported in `context.library`.
package enum Library {
    package static let name = "penstock-swift"
    package static let version = "0.1.0"
}
