// penstock-plan-generator PLAN.yaml OUTPUT.swift: generates Swift code from a tracking plan, like
// `penstock plan generate`, during the build of an application. It is a separate small program because the build of the
// application compiles it. Errors have the format that build tools parse.

import ConfigurationSyntax
import Foundation
import PlanGeneration

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let plan = arguments.first, let output = arguments.last else {
    FileHandle.standardError.write(Data("usage: penstock-plan-generator PLAN.yaml OUTPUT.swift\n".utf8))
    exit(64)
}
let result = SwiftGenerator.generate(from: plan)
for diagnostic in result.diagnostics { FileHandle.standardError.write(Data("\(diagnostic)\n".utf8)) }
guard let text = result.text else { exit(1) }
do {
    try text.write(toFile: output, atomically: true, encoding: .utf8)
} catch {
    FileHandle.standardError.write(Data("\(output): error: cannot be written: \(error.localizedDescription)\n".utf8))
    exit(1)
}
