import Foundation
import PluginTesting

/// A broker that ends the connection when a message is larger than 1000 bytes, with a reason code and without an
/// acknowledgement of it. It ends with this object.
final class DisconnectingBroker {
    let port: UInt16
    private let process = Process()

    private static let program = """
        import socket, struct
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        def serve(stream):
            while head := stream.read(1):
                length = shift = 0
                while True:
                    byte = stream.read(1)[0]
                    length |= (byte & 127) << shift
                    shift += 7
                    if byte < 128: break
                body = stream.read(length)
                if head[0] >> 4 == 1: stream.write(bytes([0x20, 3, 0, 0, 0]))
                if head[0] >> 4 == 3:
                    if length > 1000:
                        stream.write(bytes([0xe0, 2, 0x95, 0]))
                        stream.flush()
                        return
                    topic = struct.unpack(">H", body[:2])[0]
                    stream.write(bytes([0x40, 2]) + body[2 + topic:4 + topic])
                stream.flush()
        while True:
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                try: serve(stream)
                except OSError: pass
        """

    init(in directory: PluginTestDirectory) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", try directory.add("broker.py", Data(Self.program.utf8))]
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = UInt16(line.trimmingCharacters(in: .newlines)) else {
            throw TestProblem(description: "the broker does not listen: \(line)")
        }
        self.port = port
    }

    deinit {
        // A child of the test's runner may have SIGTERM blocked.
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }
}
