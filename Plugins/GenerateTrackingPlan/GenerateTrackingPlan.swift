import Foundation
import PackagePlugin

/// Makes Swift of an application's tracking plans each time it is built: of every file of the target that
/// is called `plan.yaml`, or something with `.plan.yaml` at its end.
@main
struct GenerateTrackingPlan: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        let plans = module.sourceFiles.map(\.url).filter { $0.lastPathComponent == "plan.yaml" || $0.path.hasSuffix(".plan.yaml") }
        if plans.isEmpty {
            Diagnostics.warning("\(target.name) has no plan.yaml and no NAME.plan.yaml, so there is nothing to generate")
        }
        let generator = try context.tool(named: "penstock-plan-generator").url
        return plans.map { plan in
            let name = plan.deletingPathExtension().lastPathComponent.replacingOccurrences(of: ".", with: "-")
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name).swift")
            return .buildCommand(
                displayName: "Swift from the tracking plan \(plan.lastPathComponent)", executable: generator,
                arguments: [plan.path, output.path], inputFiles: [plan], outputFiles: [output])
        }
    }
}
