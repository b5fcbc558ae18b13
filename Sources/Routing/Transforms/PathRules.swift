import Events

/// Checks the fields that a transform writes.
enum PathRules {
    /// Checks paths that a transform writes.
    /// - Parameters:
    ///   - paths: each with its key below the transform's name. The path is that key, or the value at that key.
    ///   - verb: the participle in the message "… is … twice".
    static func errors(writing paths: [(key: String, path: FieldPath, isValue: Bool)], verb: String) -> [TransformError]
    {
        var errors: [TransformError] = []
        for (i, (key, path, isValue)) in paths.enumerated() {
            if let message = problem(writing: path) {
                errors.append(TransformError([key], isKey: !isValue, message))
            } else if let other = paths[..<i].first(where: { $0.path.overlaps(path) })?.path {
                errors.append(
                    TransformError(
                        [key], isKey: !isValue,
                        other == path ? "\(path) is \(verb) twice" : "\(path) and \(other) overlap",
                        hint:
                            "\(verb == "set" ? "set one of the two" : "put one of the two") in a separate transform; "
                            + "transforms apply in order"
                    ))
            }
        }
        return errors
    }

    /// Checks a list of paths. The keys in errors are the items' indexes.
    static func errors(inList paths: [FieldPath], of keys: [String]) -> [TransformError] {
        var errors: [TransformError] = []
        for (i, path) in paths.enumerated() {
            if let message = problem(writing: path) {
                errors.append(TransformError(keys + ["\(i)"], message))
            } else if let other = paths[..<i].first(where: { $0.overlaps(path) }) {
                errors.append(
                    TransformError(
                        keys + ["\(i)"], other == path ? "\(path) is named twice" : "\(path) and \(other) overlap",
                        hint: "name the outer one only"))
            }
        }
        return errors
    }

    /// Checks a list of fields to remove.
    static func errors(removing paths: [FieldPath]) -> [TransformError] {
        paths.indices.filter { paths[$0].segments == ["messageId"] }.map {
            TransformError(["\($0)"], "an event needs its messageId", hint: "to replace it, use set")
        } + errors(inList: paths, of: [])
    }

    static func problem(writing path: FieldPath) -> String? {
        if path.segments[0] == "type" { return "the kind of an event cannot be changed" }
        if path.segments[0] == "messageId", path.segments.count > 1 {
            return "messageId is a string; nothing can be set inside it"
        }
        return nil
    }
}
