// Events: the event, and how to read it. Contains the scanner that validates events, the index that the scanner
// produces, reading fields by path, and the text formats inside an event (strings, numbers, times).
//
// - An event is the client's bytes. Nothing in this room changes or reorders them; every result refers to slices of
//   them.
// - An event that the scanner accepted is valid JSON in valid UTF-8, within the limits of size and depth. It is one of
//   the six kinds and has the fields that its kind requires. All other rooms rely on that.
// - If a key occurs twice, the last occurrence counts, in the scanner and everywhere else.
// - Scanning an event and reading its fields allocate no memory.
// - This room does no input or output, reads no clock, and starts no threads.
//
// Small types that every room uses are `@usableFromInline`, as are their stored properties. Otherwise the compiler
// inlines nothing of a `package` type into other rooms, whatever attributes its methods have.
