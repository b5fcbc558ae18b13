import Platform
import Synchronization

/// Calls fdatasync on its own thread, so that writers need not wait for the disk. The thread ends when this object
/// is released. One owner at a time.
package final class FileSyncer {
    struct Part {
        let file: any DiskFile
        /// Where the file was appended to; nil: it may have been written anywhere.
        let appended: Range<Int>?

        func sync() throws(SystemError) {
            if let appended { try file.sync(inPieces: appended) } else { try file.sync() }
        }
    }

    /// State shared by the owner and the thread. The thread holds no reference to the owner.
    private final class SharedState: Sendable {
        enum Work {
            case none
            case sync([Part])
            case synced(SystemError?)
            case end
        }

        let work = Mutex(Work.none)
        let asked = Doorbell()
        let answered = Doorbell()
    }

    private let shared = SharedState()
    private let thread: WorkerThread

    /// - Parameter name: the destination's name, for the thread's name.
    package init(name: String) {
        let shared = shared
        thread = WorkerThread(name: "sync-\(name)") { Self.run(shared) }
    }

    deinit {
        shared.work.withLock { $0 = .end }
        shared.asked.ring()
        thread.join()
    }

    /// Begins a sync of everything written to these files so far, one file after the other.
    /// - Precondition: `wait` was called for the previous sync.
    func begin(_ files: [Part]) {
        shared.work.withLock { work in
            guard case .none = work else { preconditionFailure("a sync is in progress") }
            work = .sync(files)
        }
        shared.asked.ring()
    }

    /// Waits for the sync to return, and throws its error.
    func wait() throws(SystemError) {
        while true {
            let answer = shared.work.withLock { work -> SystemError?? in
                guard case .synced(let failure) = work else { return nil }
                work = .none
                return .some(failure)
            }
            if let answer {
                if let failure = answer { throw failure }
                return
            }
            shared.answered.wait()
        }
    }

    private static func run(_ shared: SharedState) {
        while true {
            // Copied, so that the lock is not held during a slow sync.
            let work = shared.work.withLock { $0 }
            switch work {
            case .end: return
            case .sync(let files):
                var failure: SystemError?
                do throws(SystemError) { for file in files { try file.sync() } } catch { failure = error }
                shared.work.withLock { work in
                    if case .sync = work { work = .synced(failure) }
                }
                shared.answered.ring()
            case .none, .synced: shared.asked.wait()
            }
        }
    }
}
