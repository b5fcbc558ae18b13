"""Clients of the edges. Each sends the events of users of its own, at a steady rate, and records the answers.

An event is `{"userId":"uXXXX","messageId":"cNNN-NNNNNNNN","properties":{"n":N}}`: the numbers of the user, the client
and the event, and the number of the event among those of its user.
"""

import time

from client import Client, Connection
from ledger import message_id

# The users of a client.
USERS = 25
TICK = 0.02


def user(client, number):
    return client * USERS + number % USERS


class UserConnection(Connection):
    def line(self, number):
        return (
            f'{{"type":"track","event":"Fleet Test","userId":"u{user(self.client, number):04}",'
            f'"messageId":"{message_id(self.client, number)}","properties":{{"n":{number // USERS},'
            f'"padding":"{"x" * self.padding}"}}}}\n')


class Sender(Client):
    connect = UserConnection

    def __init__(self, path, ledger, number, seed, rate):
        super().__init__(path, ledger, number, seed)
        self.rate = rate
        self.window = max(self.WINDOW, rate)

    def session(self, connection):
        begin, sent = time.monotonic(), 0
        while not self.ended.is_set():
            due = int((time.monotonic() - begin) * self.rate) - sent
            if due > self.rate:
                # What could not be sent while the daemon did not read is not made up for.
                begin, sent, due = time.monotonic(), 0, 1
            if due > 0:
                connection.send(due)
                sent += due
            while connection.outstanding > self.window and not self.ended.is_set():
                if not connection.read(0.1):
                    return
            if not connection.read(0):
                return
            self.ended.wait(TICK)
        connection.drain(5)
