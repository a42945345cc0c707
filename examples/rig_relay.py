#!/usr/bin/env python3
"""What stands between the members of a rig: each is reached through an address of the relay, UDP and TCP.

Standard output: one line "NAME ADDRESS" for each name given, in their order: what that member is to advertise.
Standard input, one command a line, each answered with "ok":
  member NAME ADDRESS PID   NAME now listens at ADDRESS; until then its frames are dropped
  cut NAME                  from now on everything between NAME and all others is dropped; connections stay open
  heal                      everything passes again; connections that have lost bytes are closed
Ends at the end of its standard input.
"""

import asyncio
import os
import socket
import sys

SOCKET_BUFFER = 1 << 20


class Member:
    def __init__(self, name):
        self.name = name
        self.address = None  # (host, port) where it listens
        self.pid = None
        self.udp = None  # the transport that others reach it through, and that it is heard from by others


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, relay, to):
        self.relay = relay
        self.to = to

    def connection_made(self, transport):
        self.to.udp = transport

    def datagram_received(self, data, source):
        sender = self.relay.listening_at(source)
        if sender is None or self.to.address is None or self.relay.is_cut(sender, self.to):
            self.relay.dropped += 1
            return
        # The receiver sees it come from the address that the sender advertises.
        sender.udp.sendto(data, self.to.address)

    def error_received(self, error):
        pass  # the member is gone: it is as if the frame had been lost


class Relay:
    def __init__(self, names):
        self.members = {name: Member(name) for name in names}
        self.cut = None
        self.damaged = set()  # connections that have lost bytes
        self.dropped = 0
        self.tasks = set()

    def listening_at(self, source):
        return next((m for m in self.members.values() if m.address == source), None)

    def is_cut(self, one, other):
        return self.cut is not None and (one is self.cut or other is self.cut or one is None or other is None)

    async def open(self):
        loop = asyncio.get_running_loop()
        for member in self.members.values():
            for _ in range(20):
                transport, _ = await loop.create_datagram_endpoint(
                    lambda to=member: Datagrams(self, to), local_addr=("127.0.0.1", 0))
                sock = transport.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER)
                port = sock.getsockname()[1]
                try:
                    await asyncio.start_server(lambda r, w, to=member: self.stream(r, w, to), "127.0.0.1", port)
                    break
                except OSError:  # somebody else has the port for TCP
                    transport.close()
            else:
                raise SystemExit("rig_relay.py: no port is free for both UDP and TCP")
            print(f"{member.name} 127.0.0.1:{port}", flush=True)

    def owner_of(self, address):
        """The member whose process has a connection from `address`; None if it cannot be told."""
        port = f":{address[1]:04X}"
        try:
            with open("/proc/net/tcp", encoding="ascii") as table:
                rows = (line.split() for line in table)
                inode = next((row[9] for row in rows if row[1].endswith(port)), None)
        except OSError:
            return None
        for member in self.members.values():
            directory = f"/proc/{member.pid}/fd"
            try:
                for fd in os.listdir(directory):
                    if os.readlink(f"{directory}/{fd}") == f"socket:[{inode}]":
                        return member
            except OSError:
                continue  # it is gone, or closed that one just now
        return None

    async def stream(self, reader, writer, to):
        sender = self.owner_of(writer.get_extra_info("peername"))
        connection = (sender, to, writer)
        if to.address is None:
            writer.close()
            return
        if self.is_cut(sender, to):
            self.damaged.add(writer)
            while await reader.read(65536):
                pass
            writer.close()
            return
        try:
            other_reader, other_writer = await asyncio.open_connection(*to.address)
        except OSError:
            writer.close()  # nobody is there
            return
        await asyncio.gather(self.pump(reader, other_writer, connection), self.pump(other_reader, writer, connection))

    async def pump(self, reader, writer, connection):
        sender, to, whole = connection
        try:
            while data := await reader.read(65536):
                if self.is_cut(sender, to):
                    self.damaged.add(whole)
                if whole not in self.damaged:
                    writer.write(data)
                    await writer.drain()
            if whole not in self.damaged:
                writer.write_eof()
        except OSError:
            pass
        if whole not in self.damaged:
            return
        # Who has lost bytes learns no end either, until it is healed.
        while whole in self.damaged:
            await asyncio.sleep(0.05)
        writer.close()

    def order(self, words):
        if words[0] == "member" and len(words) == 4 and words[1] in self.members:
            host, port = words[2].rsplit(":", 1)
            member = self.members[words[1]]
            member.address, member.pid = (host, int(port)), int(words[3])
        elif words[0] == "cut" and len(words) == 2 and words[1] in self.members:
            self.cut = self.members[words[1]]
        elif words == ["heal"]:
            self.cut = None
            for writer in self.damaged:
                writer.close()
            self.damaged.clear()
        else:
            return "unknown"
        return "ok"

    async def obey(self):
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            words = line.decode().split()
            if words:
                print(self.order(words), flush=True)


async def run(names):
    relay = Relay(names)
    await relay.open()
    await relay.obey()


def main():
    if len(sys.argv) < 2 or "--help" in sys.argv:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    try:
        asyncio.run(run(sys.argv[1:]))
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
