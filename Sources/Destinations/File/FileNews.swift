import Telemetry

struct FileChangedOutside: NamedEvent {
    static let name = "file_changed_outside"
    var destination: String
    var path: String
    var level: Level { .notice }
    var message: String {
        "destination \(destination): \(path) was renamed, removed or changed by somebody else; going on with what is at that path"
    }
}
