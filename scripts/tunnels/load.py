"""TCP streams and requests through a tunnel."""

import socket
import threading
import time

from tunnels.ends import inner

def processor_seconds(pid):
    """Returns the time of all threads, also of ended ones: that of the process's clock."""
    return time.clock_gettime((~pid << 3) | 2)


class Load:
    """TCP streams from one side to the other, and requests beside them."""

    def __init__(self, world, streams):
        self.stopped, self.threads = False, []
        self.lock = threading.Lock()
        peers = [side for side in world.sides if side in (1, 2)]
        # The requests go to the last side: with two peers, that of the faster link.
        target = peers[-1]
        flows = [(0, peer) for peer in peers]
        if world.kind == "both":
            flows.append((1, 0))
        self.received = {flow: 0 for flow in flows}
        for flow in flows:
            self.open(world, flow, streams)
        echo = world.socket(target, socket.SOCK_DGRAM)
        echo.bind((inner(target), 7))
        self.thread(self.echo, echo)
        self.client = world.socket(0, socket.SOCK_DGRAM)
        self.client.connect((inner(target), 7))

    def open(self, world, flow, streams):
        sender, receiver = flow
        listener = world.socket(receiver, socket.SOCK_STREAM)
        listener.bind((inner(receiver), 9))
        listener.listen(64)
        for _ in range(streams):
            client = world.socket(sender, socket.SOCK_STREAM)
            client.settimeout(20)
            client.connect((inner(receiver), 9))
            server, _ = listener.accept()
            self.thread(self.send, client)
            self.thread(self.receive, server, flow)
        listener.close()

    def thread(self, work, of, *arguments):
        of.settimeout(0.5)
        thread = threading.Thread(target=work, args=(of, *arguments), daemon=True)
        thread.start()
        self.threads.append(thread)

    def send(self, stream):
        data = bytes(1 << 16)
        while not self.stopped:
            try:
                stream.send(data)
            except TimeoutError:
                pass
            except OSError:
                return  # The receiver stopped first.

    def receive(self, stream, flow):
        into = bytearray(1 << 18)
        while not self.stopped:
            try:
                count = stream.recv_into(into)
                if not count:
                    return  # The sender ended.
                with self.lock:  # `+=` of two threads can lose one of them.
                    self.received[flow] += count
            except TimeoutError:
                pass
            except OSError:
                return  # The sender reset the stream.

    def echo(self, server):
        while not self.stopped:
            try:
                data, peer = server.recvfrom(200)
                server.sendto(data, peer)
            except TimeoutError:
                pass

    def requests(self, seconds):
        """Returns the times of requests in ms, and the longest time without a response in ms.

        One that is not answered in 3 s counts as that.
        """
        sent, times, end = {}, {}, time.monotonic() + seconds
        number, due, last, silence = 0, time.monotonic(), time.monotonic(), 0
        while time.monotonic() < end or (len(times) < len(sent) and time.monotonic() < end + 3):
            now = time.monotonic()
            if due <= now < end:
                sent[number] = now
                try:
                    self.client.send(number.to_bytes(4, "big") + bytes(96))
                except OSError:
                    pass  # The TUN device has no carrier for a moment: the request is lost.
                number, due = number + 1, due + 0.01
            self.client.settimeout(max(0.001, due - time.monotonic()) if now < end else 0.1)
            try:
                answer = int.from_bytes(self.client.recv(200)[:4], "big")
                now = time.monotonic()
                silence, last = max(silence, now - last), now
                times.setdefault(answer, (now - sent[answer]) * 1e3)
            except OSError:
                pass  # No answer yet, or an ICMP error while the peer moves.
        silence = max(silence, end - last)
        return [times.get(number, 3000.0) for number in sent], silence * 1e3

    def close(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()


