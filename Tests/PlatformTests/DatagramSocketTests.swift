import Foundation
import Glibc
import Platform
import Testing

@Suite struct DatagramSocketTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    private var path: String { directory.file("d") }

    @Test func `each message has its bytes, its own length and its sender`() throws {
        let socket = try DatagramSocket.bind(at: path, mode: 0o600)
        #expect(permissions(path) == 0o600)
        let client = try DatagramSocket.connect(to: path)
        let receiver = DatagramBuffer(slotSize: 4, count: 8)
        #expect(receiver.receive(from: socket) == .nothing)
        for text in ["one", "", "longer"] { _ = client.transmit(Array(text.utf8).span) }
        #expect(receiver.receive(from: socket) == .messages(3))
        let texts = (0..<3).map { index in
            let bytes = receiver.bytes(of: index)
            return String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
        #expect(texts == ["one", "", "long"])
        #expect((0..<3).map { receiver[$0].length } == [3, 0, 6])
        let sender = PeerIdentity(pid: getpid(), uid: geteuid(), gid: getegid())
        #expect((0..<3).allSatisfy { receiver[$0].sender == sender })
    }

    @Test func `a socket that was shut down gives its last messages, and takes no more`() throws {
        let socket = try DatagramSocket.bind(at: path, mode: 0o600)
        let client = try DatagramSocket.connect(to: path)
        for text in ["one", ""] { _ = client.transmit(Array(text.utf8).span) }
        socket.stopReceiving()
        #expect(client.transmit(Array("late".utf8).span) == .gone)
        let receiver = DatagramBuffer(slotSize: 100, count: 8)
        #expect(receiver.receive(from: socket) == .messages(2))
        #expect(receiver.receive(from: socket) == .nothing)
    }

    /// Sends messages with few descriptors, and with so many that the kernel cuts the list off.
    @Test(arguments: [1, 3, 50, 253])
    func `descriptors that are sent along are closed`(count: Int) throws {
        let socket = try DatagramSocket.bind(at: path, mode: 0o600)
        let receiver = DatagramBuffer(slotSize: 100, count: 8)
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = [
            "python3", "-c",
            """
            import os, socket, sys
            client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            client.connect(sys.argv[1])
            read, write = os.pipe()
            for number in range(5):
                socket.send_fds(client, [b"text"], [write] * int(sys.argv[2]))
            os.close(write)
            # The end of the pipe comes only once every copy of its other end is closed.
            print(len(os.read(read, 1)))
            """, path, "\(count)",
        ]
        let output = Pipe()
        python.standardOutput = output
        try python.run()
        defer { if python.isRunning { python.terminate() } }
        var received = 0
        let deadline = Date(timeIntervalSinceNow: 60)
        while received < 5, Date() < deadline {
            guard case .messages(let found) = receiver.receive(from: socket) else {
                usleep(1000)
                continue
            }
            for index in 0..<found {
                #expect(receiver[index].length == 4)
                #expect(receiver[index].sender?.pid == python.processIdentifier)
            }
            received += found
        }
        #expect(received == 5)
        let ended = try #require(try output.fileHandleForReading.readToEnd())
        #expect(String(decoding: ended, as: UTF8.self) == "0\n")
    }

    @Test func `a stale socket is replaced, and one that is in use is not`() throws {
        do { _ = try DatagramSocket.bind(at: path, mode: 0o600) }
        let socket = try DatagramSocket.bind(at: path, mode: 0o600)
        #expect(throws: UnixSocketError.inUse(path: path)) { _ = try DatagramSocket.bind(at: path, mode: 0o600) }
        #expect(throws: UnixSocketError.inUse(path: path)) { _ = try UnixListener.listen(at: path, mode: 0o600) }
        #expect(socket.raw >= 0)
        let stream = try UnixListener.listen(at: directory.file("s"), mode: 0o600)
        #expect(throws: UnixSocketError.inUse(path: directory.file("s"))) {
            _ = try DatagramSocket.bind(at: directory.file("s"), mode: 0o600)
        }
        #expect(stream.raw >= 0)
    }

    @Test func `a message from before the credentials were asked for has no sender`() throws {
        // As from a socket unit without PassCredentials=.
        let named = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        let socket = FileDescriptor(owning: named)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(named, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        let client = try DatagramSocket.connect(to: path)
        _ = client.transmit(Array("before".utf8).span)
        try socket.receiveCredentials()
        _ = client.transmit(Array("after".utf8).span)
        let receiver = DatagramBuffer(slotSize: 100, count: 8)
        #expect(receiver.receive(from: socket) == .messages(2))
        #expect(receiver[0].sender == nil)
        #expect(receiver[1].sender?.pid == getpid())
    }
}
