import Platform
import Synchronization

/// Calls fdatasync on a thread of its own, so that whoever writes need not wait for
/// the disk. The thread ends with this. One owner at a time.
package final class FileSyncer {
    /// What the owner and the thread share: the thread keeps no owner alive.
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

    /// - Parameter name: of the destination, for the thread's.
    package init(name: String) {
        let desk = desk
        thread = WorkerThread(name: "sync-\(name)") { Self.run(desk) }
    }

    deinit {
        desk.work.withLock { $0 = .end }
        desk.asked.ring()
        thread.join()
    }

    /// Begins a sync of what was written to these files so far, one after the other.
    /// - Precondition: `wait` was called for the one before.
    func begin(_ files: [any DiskFile]) {
        desk.work.withLock { work in
            guard case .none = work else { preconditionFailure("a sync is under way") }
            work = .sync(files)
        }
        desk.asked.ring()
    }

    /// Returns when the sync that was begun has returned, and throws what it threw.
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
            // A copy outlives the lock: the disk may take its time.
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
