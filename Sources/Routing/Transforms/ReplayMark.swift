import Events

extension Transform {
    /// Sets `context.penstock.replay` to true, for destinations that want to know that an event is replayed. Users
    /// cannot configure it, so it is not in the catalogue. Filters and mappings read `OriginField.replay` instead of
    /// the event's bytes, which a client could have written.
    package static var replayMark: Transform {
        let path = FieldPath(["context", "penstock", "replay"])
        return Transform(
            name: "replay",
            definition: SetTransform(
                assignments: [
                    PathSetting(key: "context.penstock.replay", path: path, value: .constant(Array("true".utf8)))
                ]))
    }

    /// No transform of the catalogue has this name.
    var isReplayMark: Bool { name == "replay" }
}
