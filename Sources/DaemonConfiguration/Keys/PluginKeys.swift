/// The plugin of a destination or a source during reading.
struct PluginDraft: Sendable {
    var name = ""
    var settings = SecretTemplate(pieces: [.literal("{}")])
    var limits = Configuration.Plugin.Limits()
    var deadline: Duration = .seconds(30)
}

/// What can be a plugin.
protocol PluginUser: Sendable {
    var plugin: PluginDraft { get set }
}

/// The keys of every plugin.
extension Section where Target: PluginUser {
    /// - Parameters:
    ///   - what: "a sink plugin".
    ///   - deadline: what has a time limit.
    static func plugin(_ what: String, deadline: String) -> [Field<Target>] {
        [
            Field(
                "plugin", \.plugin.name, .pluginName, required: true,
                "the name of \(what); its file is NAME.so or libNAME.so"),
            Field(
                "limits",
                keys: Section([
                    Field(
                        "memory", \.plugin.limits.memory, .size((16 << 20)...(1 << 40)),
                        "the maximum private memory; an allocation beyond it fails in the plugin"),
                    Field(
                        "cpu", \.plugin.limits.processors, .number(0.01...1024), default: "unlimited",
                        "the maximum use of processors on average, such as 0.5 for half of one; ten seconds' worth may"
                            + " be used at once"),
                    Field(
                        "open_files", \.plugin.limits.openFiles, .integer(16...1_048_576),
                        "the maximum number of open files and connections"),
                ]), "the limits of the plugin's process"),
            Field("settings", \.plugin.settings, .settings, "the plugin's settings, which are passed to it as JSON"),
            Field(
                "deadline", \.plugin.deadline, .duration(.milliseconds(10)...days(1)),
                "the maximum time for \(deadline)"),
        ]
    }
}
