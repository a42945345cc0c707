"""One etcd of a demonstration's own, on 127.0.0.1."""

import socket
import subprocess


def start(directory):
    """The process, which the caller ends, and the URL for its clients. It takes some seconds until it answers."""
    ports = []
    sockets = [socket.socket() for _ in range(2)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
        ports.append(s.getsockname()[1])
    for s in sockets:
        s.close()
    client, peer = (f"http://127.0.0.1:{port}" for port in ports)
    log = open(directory / "etcd.log", "w", encoding="utf-8")
    process = subprocess.Popen(
        ["etcd", "--name", "a", "--data-dir", str(directory / "etcd"), "--listen-client-urls", client,
         "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
         "--initial-cluster", f"a={peer}"], stdout=log, stderr=log, start_new_session=True)
    return process, client
