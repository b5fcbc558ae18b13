"""The network between an edge and the broker, which a test can cut."""

import socket
import threading


class Proxy:
    """Forwards connections to several servers, each at an address of its own with the same port."""

    def __init__(self, pairs):
        """`pairs`: (address of the proxy, address of the server), each a (host, port)."""
        self.pairs = pairs
        self.changed = threading.Condition()
        self.listeners, self.connections = [], set()
        # Which directions stall: "up" is to the server.
        self.stalled = frozenset()
        self.heal()

    def heal(self):
        """Connections that stalled go on. New ones are accepted."""
        with self.changed:
            self.stalled = frozenset()
            self.changed.notify_all()
            if self.listeners:
                return
            for here, there in self.pairs:
                listener = socket.create_server(here)
                self.listeners.append(listener)
                threading.Thread(target=self.accept, args=(listener, there), daemon=True).start()

    def stall(self, *directions):
        """Nothing passes, and nobody is told. `directions`: "up", "down" or both."""
        with self.changed:
            self.stalled = frozenset(directions or ("up", "down"))

    def cut(self):
        """Ends all connections and refuses new ones."""
        with self.changed:
            listeners, self.listeners = self.listeners, []
            connections = list(self.connections)
            self.stalled = frozenset()
            self.changed.notify_all()
        for listener in listeners:
            # Wakes the thread, which close() does not.
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in connections:
            self.shut(connection)

    @staticmethod
    def shut(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def accept(self, listener, there):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client, there), daemon=True).start()

    def serve(self, client, there):
        try:
            server = socket.create_connection(there, 5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        with self.changed:
            self.connections |= {client, server}
            is_cut = not self.listeners
        if is_cut:
            self.shut(client)
        back = threading.Thread(target=self.pump, args=(server, client, "down"), daemon=True)
        back.start()
        self.pump(client, server, "up")
        back.join()
        with self.changed:
            self.connections -= {client, server}
        client.close()
        server.close()

    def pump(self, source, target, direction):
        try:
            while data := source.recv(1 << 16):
                with self.changed:
                    self.changed.wait_for(lambda: direction not in self.stalled)
                target.sendall(data)
        except OSError:
            pass
        self.shut(source)
        self.shut(target)
