import Events

extension Transform {
    /// Sets `context.penstock.replay` to true, for destinations that want to know that an event is replayed. Users
    /// cannot configure it, so it is not in the catalogue.
    package static var replayMark: Transform {
        let path = FieldPath(["context", "penstock", "replay"])
        return Transform(
            name: "replay",
            definition: SetTransform(
                assignments: [
                    PathSetting(key: "context.penstock.replay", path: path, value: .constant(Array("true".utf8)))
                ]))
    }
}
