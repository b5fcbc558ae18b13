// penstock-plan-generator PLAN.yaml OUTPUT.swift: what `penstock plan generate` does, for the build of
// an application: it is built with it, so it is small. Errors have the form that build tools read.

import ConfigurationLanguage
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
