import Foundation
import Testing

@testable import Platform

/// Quotas of processor time, read from trees of files as the kernel has them.
@Suite struct ProcessorLimitTests {
    private func quota(_ files: [String: String], _ memberships: String) throws -> Double? {
        let directory = try TemporaryDirectory()
        for (name, content) in files {
            let path = directory.file(name)
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try content.write(toFile: path, atomically: true, encoding: .utf8)
        }
        return ProcessorLimit.quota(below: directory.path, memberships: memberships)
    }

    @Test func `the smallest quota counts, of the cgroup and those above it`() throws {
        let files = [
            "system.slice/cpu.max": "150000 100000\n", "system.slice/penstock.service/cpu.max": "max 100000\n",
            "system.slice/penstock.service/plugins/cpu.max": "10000 20000\n",
        ]
        #expect(try quota(files, "0::/system.slice/penstock.service\n") == 1.5)
        #expect(try quota(files, "0::/system.slice/penstock.service/plugins\n") == 0.5)
        #expect(try quota(files, "0::/user.slice\n") == nil)
    }

    @Test func `version 1 has a directory for the controller`() throws {
        let files = [
            "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n",
            "cpu/system.slice/penstock.service/cpu.cfs_quota_us": "25000\n",
            "cpu/system.slice/penstock.service/cpu.cfs_period_us": "100000\n",
        ]
        #expect(try quota(files, "4:cpuacct,cpu:/system.slice/penstock.service\n0::/\n") == 0.25)
        #expect(try quota(files, "4:cpuset:/system.slice/penstock.service\n") == nil)
        #expect(try quota(files, "4:cpu:/\n") == nil)
    }

    @Test func `in a container, where the path is the host's or not below the root, the root's quota counts`() throws {
        #expect(try quota(["cpu.max": "50000 100000\n"], "0::/docker/0123") == 0.5)
        #expect(try quota(["cpu.max": "50000 100000\n", "a/cpu.max": "1 1000\n"], "0::/../a") == 0.5)
    }

    @Test(
        arguments: [
            "", "\n", "max", "0 100000", "-1 100000", "100000 0", "100000", "9223372036854775808 1", "1 1 1", "a b",
        ])
    func `what is no quota is none`(content: String) throws {
        #expect(try quota(["cpu.max": content], "0::/") == nil)
    }

    @Test func `the largest and the smallest quota`() throws {
        #expect(try quota(["cpu.max": "9223372036854775807 1"], "0::/") == 0x1p63)
        #expect(try quota(["cpu.max": "1 9223372036854775807"], "0::/") == 0x1p-63)
    }

    @Test func `strange memberships are no crash`() throws {
        for text in ["", ":", "::", ":::", "0::", "0::///", "1:cpu", "1:cpu:", "0::/\0/a"] {
            #expect(try quota(["b/cpu.max": "1 2"], text) == nil)
        }
    }

    @Test func `this process may use at least a part of one processor, and no more than there are`() {
        let limit = ProcessorLimit.current
        #expect(limit > 0 && limit <= Double(ProcessInfo.processInfo.processorCount))
    }
}
