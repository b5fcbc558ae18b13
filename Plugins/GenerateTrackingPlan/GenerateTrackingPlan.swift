import Foundation
import PackagePlugin

/// Generates Swift code from an application's tracking plans on each build. A tracking plan is a file of the target
/// that is named `plan.yaml` or ends in `.plan.yaml`.
@main
struct GenerateTrackingPlan: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        let plans = module.sourceFiles.map(\.url).filter {
            $0.lastPathComponent == "plan.yaml" || $0.path.hasSuffix(".plan.yaml")
        }
        if plans.isEmpty {
            Diagnostics.warning(
                "\(target.name) has no plan.yaml and no NAME.plan.yaml, so there is nothing to generate")
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
