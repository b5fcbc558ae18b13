// Routing decides whether a destination gets an event, and in what form. It holds the filter language, routes,
// transforms and mappings.
//
// Invariants:
// - A filter, path or transform that is not valid is rejected when the configuration is read. No event meets a filter
//   that did not compile.
// - Events stay bytes. One pass over an event reads all paths that a destination needs; most events need no pass at
//   all: the index answers, or a search for the text that a field is compared with. Transforms collect edits in an
//   overlay. The result is written once, from slices of the input.
// - The same event and configuration give the same output, on every retry and replay.
// - The size of the event and of the configuration bounds the time for an event. The common cases allocate nothing.
//
// Threads: a parsed or compiled filter is immutable and may be used by any thread. A router, matcher, tracer or
// scrubber belongs to one thread at a time.
//
// A transform (`Transforms/`) is one struct in one file:
// - It declares itself: `static let declaration`, made with `TransformDeclaration.keys` or `.value` from `Setting`s. A
//   `Setting` is a name, a key path, a `SettingType` (path, filter, template, secret, script, duration, choice, lists
//   and maps of these …) and one sentence. The reader of the configuration interprets the declaration: it passes
//   `SettingValue`s that fit the declared `SettingShape`s and gets a `Transform`, or the `TransformErrors` of
//   `check()`, each with the keys that lead to the fault.
// - It is an `EditingTransform`, which declares what it reads and writes and adds edits (set, remove, rename) to the
//   event's `Overlay`, or a `RewritingTransform`, which appends no, one or several events. Either kind may drop the
//   event, which is then counted under the transform's name, or reject it, which sends it to the dead letters.
// - It is listed in `TransformCatalogue.all`. No other code refers to it.
//
// Routing does no input or output. It knows no clock, no destination and no journal, and it keeps no event after it has
// answered.
