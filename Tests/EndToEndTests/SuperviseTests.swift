import Foundation
import Glibc
import Testing

/// `Tests/Support/supervise`, in which all tests run.
@Suite struct SuperviseTests {
    /// In /proc, the process that is left running is a zombie, and its second thread has a child.
    private static let leavesHalfAProcess = """
        import ctypes, os, subprocess, sys, threading
        ready, started = os.pipe()
        if os.fork():
            os.read(ready, 1)
            sys.exit(3)
        def hold():
            child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            print(child.pid, flush=True)
            os.write(started, b".")
            child.wait()
        threading.Thread(target=hold).start()
        ctypes.CDLL(None).pthread_exit(None)
        """

    @Test func `nothing is left running, also where the first thread of a process has ended`() throws {
        let ended = try Program.run(
            Repository.root + "/Tests/Support/supervise", ["60", "python3", "-c", Self.leavesHalfAProcess])
        #expect(ended.status == 3)
        let child = try #require(pid_t(ended.output.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(kill(child, 0) == -1 && errno == ESRCH)
        #expect(ended.errors.contains("left running, killed: sleep 600"))
    }

    /// As the guardian of a database: it notices the end of the tests by the end of a pipe, and then has work to do.
    private static let leavesOneThatTidies = """
        import os, sys, time
        end, held = os.pipe()
        if os.fork():
            sys.exit(0)
        os.close(held)
        os.read(end, 1)
        time.sleep(0.3)
        print("tidied", flush=True)
        """

    @Test func `a process that ends by itself is given the time`() throws {
        let ended = try Program.run(
            Repository.root + "/Tests/Support/supervise", ["60", "python3", "-c", Self.leavesOneThatTidies])
        #expect(ended.status == 0 && ended.output == "tidied\n")
        #expect(!ended.errors.contains("left running"))
    }
}
