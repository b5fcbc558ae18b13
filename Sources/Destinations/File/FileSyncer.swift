import Platform
import Synchronization

/// Calls fdatasync on a thread of its own, so that writers need not wait for the disk. The thread ends when this object
/// is released. One owner at a time.
package final class FileSyncer {
    /// State shared by the owner and the thread. The thread holds no reference to the owner.
    private final class Desk: Sendable {
        enum Work {
            case none
            case sync([any DiskFile])
            case synced(SystemError?)
            case end
        }

        let work = Mutex(Work.none)
        let asked = Doorbell()
        let answered = Doorbell()
    }

    private let desk = Desk()
    private let thread: WorkerThread

    /// - Parameter name: the destination's name, for the thread's name.
    package init(name: String) {
        let desk = desk
        thread = WorkerThread(name: "sync-\(name)") { Self.run(desk) }
    }

    deinit {
        desk.work.withLock { $0 = .end }
        desk.asked.ring()
        thread.join()
    }

    /// Begins a sync of everything written to these files so far, one file after the other.
    /// - Precondition: `wait` was called for the previous sync.
    func begin(_ files: [any DiskFile]) {
        desk.work.withLock { work in
            guard case .none = work else { preconditionFailure("a sync is under way") }
            work = .sync(files)
        }
        desk.asked.ring()
    }

    /// Waits for the sync to return, and throws its error.
    func wait() throws(SystemError) {
        while true {
            let answer = desk.work.withLock { work -> SystemError?? in
                guard case .synced(let failure) = work else { return nil }
                work = .none
                return .some(failure)
            }
            if let answer {
                if let failure = answer { throw failure }
                return
            }
            desk.answered.wait()
        }
    }

    private static func run(_ desk: Desk) {
        while true {
            // Copied, so that the lock is not held during a slow sync.
            let work = desk.work.withLock { $0 }
            switch work {
            case .end: return
            case .sync(let files):
                var failure: SystemError?
                do throws(SystemError) { for file in files { try file.sync() } } catch { failure = error }
                desk.work.withLock { work in
                    if case .sync = work { work = .synced(failure) }
                }
                desk.answered.ring()
            case .none, .synced: desk.asked.wait()
            }
        }
    }
}
