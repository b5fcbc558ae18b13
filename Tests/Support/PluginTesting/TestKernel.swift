/// What this machine's kernel has.
package enum TestKernel {
    /// landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION). Unlike /sys/kernel/security/lsm, it needs no
    /// securityfs, which containers and small machines do not mount.
    package static let hasLandlock: Bool = {
        let program = "import ctypes; exit(ctypes.CDLL(None).syscall(444, None, 0, 1) < 1)"
        return (try? TestCompiler.run(["python3", "-c", program]))?.status == 0
    }()
}
