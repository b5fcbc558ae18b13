import Glibc
import Platform

/// Gives `body` a new directory. Removes it afterwards with its files.
func withHTTPTestDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    var template = Array((P_tmpdir + "/penstock-http-XXXXXX").utf8CString)
    guard unsafe mkdtemp(&template) != nil else { throw SystemError("mkdtemp") }
    let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer {
        let disk = SystemDisk()
        for name in (try? disk.list(directory)) ?? [] { try? disk.remove(directory + "/" + name) }
        unsafe rmdir(directory)
    }
    return try body(directory)
}
