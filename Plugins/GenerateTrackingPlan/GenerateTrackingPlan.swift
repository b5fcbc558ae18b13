import Foundation
import PackagePlugin

/// Generates Swift code from an application's tracking plans on each build. A tracking plan is a file of the target
/// that is named `plan.yaml` or ends in `.plan.yaml`.
@main
struct GenerateTrackingPlan: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        return try Self.commands(
            files: module.sourceFiles.map(\.url), target: target.name,
            generator: context.tool(named: "penstock-plan-generator").url, directory: context.pluginWorkDirectoryURL)
    }

    private static func commands(files: [URL], target: String, generator: URL, directory: URL) -> [Command] {
        let plans = files.filter { $0.lastPathComponent == "plan.yaml" || $0.path.hasSuffix(".plan.yaml") }
        if plans.isEmpty {
            Diagnostics.warning("\(target) has no plan.yaml and no NAME.plan.yaml, so there is nothing to generate")
        }
        return plans.map { plan in
            let name = plan.deletingPathExtension().lastPathComponent.replacingOccurrences(of: ".", with: "-")
            let output = directory.appending(path: "\(name).swift")
            return .buildCommand(
                displayName: "Swift from the tracking plan \(plan.lastPathComponent)", executable: generator,
                arguments: [plan.path, output.path], inputFiles: [plan], outputFiles: [output])
        }
    }
}

#if canImport(XcodeProjectPlugin)
    import XcodeProjectPlugin

    extension GenerateTrackingPlan: XcodeBuildToolPlugin {
        func createBuildCommands(context: XcodePluginContext, target: XcodeTarget) throws -> [Command] {
            try Self.commands(
                files: target.inputFiles.map(\.url), target: target.displayName,
                generator: context.tool(named: "penstock-plan-generator").url,
                directory: context.pluginWorkDirectoryURL)
        }
    }
#endif
