// NameSuggestion: finds the known name or number that a user most likely meant, for hints in error messages. Depends on
// no other room.
