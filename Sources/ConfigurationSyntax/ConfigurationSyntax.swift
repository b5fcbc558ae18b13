// ConfigurationSyntax: the language of Penstock's files (the configuration, its tests, a tracking plan), independent of
// their content. Files are YAML; every value has a place, every key is declared once, and all errors are reported at
// once with file, line, column and a hint.
//
// Invariants
// - A key is declared once (`Field`): its name, type, bounds, default and meaning. The parser, "did you mean" and all
//   descriptions of a file use that one declaration.
// - Input is bounded: the size of a file, its depth, the expansion of aliases, the number of diagnostics. No input
//   traps.
//
// This room needs Yams and no room of Penstock but NameSuggestion, because every application that generates code from a
// tracking plan builds it. It reads files and writes none. It knows nothing about events.
