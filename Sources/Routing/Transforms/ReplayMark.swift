import Events

extension Transform {
    /// Says of an event that it has been here before, for a destination that wants to know:
    /// `context.penstock.replay` is true. Nobody configures it, so it is in no catalogue.
    package static var replayMark: Transform {
        let path = FieldPath(["context", "penstock", "replay"])
        return Transform(
            name: "replay",
            definition: SetTransform(
                assignments: [PathSetting(key: "context.penstock.replay", path: path, value: .constant(Array("true".utf8)))]))
    }
}
