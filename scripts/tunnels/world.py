"""Network namespaces with the links of a row, removed at the end."""

import ctypes
import os
import socket
import subprocess
import threading

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
# The side between the others: a router, or a bridge.
MIDDLE = 3
# The links of each kind: the two sides that each connects. Side 0 is the measured program.
LINKS = {
    "direct": [(0, 1)],
    "both": [(0, 1)],
    "peers": [(0, 1), (0, 2)],
    "roaming": [(0, 1), (0, 1)],
    "router": [(0, MIDDLE), (MIDDLE, 1)],
    "bridged": [(0, MIDDLE), (MIDDLE, 1)],
}
# The shaped ends of each kind: side, link, and a factor of the row's rate.
SHAPED = {
    "direct": [(0, 0, 1)],
    "both": [(0, 0, 1), (1, 0, 1)],
    "peers": [(0, 0, 1), (0, 1, 5)],
    "roaming": [(0, 0, 1), (0, 1, 1)],
    "router": [(MIDDLE, 1, 1)],
    "bridged": [],
}


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class World:
    """Namespaces and links. Link N has the device vethN, and the addresses 10.9.N.1 and .2.

    The two links of `bridged` are one network, and the caller creates the bridge.
    """

    def __init__(self, kind, rate, queue_bytes):
        self.kind, self.children = kind, []
        self.sides = sorted({side for link in LINKS[kind] for side in link})
        self.names = {side: f"tun{os.getpid()}{side}" for side in self.sides}
        try:
            for name in self.names.values():
                run("ip", "netns", "add", name)
                self.ip(name, "link", "set", "lo", "up")
            for number, link in enumerate(LINKS[kind]):
                self.connect(number, link)
            if kind == "router":
                self.add_routes()
            for side, link, factor in SHAPED[kind] if rate else []:
                run("tc", "-n", self.names[side], "qdisc", "replace", "dev", f"veth{link}",
                    "root", "tbf", "rate", str(rate * factor), "burst", "10000",
                    "limit", str(queue_bytes))
        except BaseException:
            self.close()
            raise

    @staticmethod
    def ip(name, *command):
        run("ip", "-n", name, *command)

    def connect(self, number, link):
        device = f"veth{number}"
        first, second = (self.names[side] for side in link)
        run("ip", "link", "add", device, "netns", first, "type", "veth",
            "peer", "name", device, "netns", second)
        for host, side in enumerate(link, 1):
            address = f"10.9.{number}.{host}"
            if self.kind == "bridged":
                address = None if side == MIDDLE else self.address(side, 1 - side)
            if address:
                self.ip(self.names[side], "address", "add", f"{address}/24", "dev", device)
            self.ip(self.names[side], "link", "set", device, "up")

    def add_routes(self):
        self.ip(self.names[0], "route", "add", "10.9.1.0/24", "via", "10.9.0.2")
        self.ip(self.names[1], "route", "add", "10.9.0.0/24", "via", "10.9.1.1")
        run("ip", "netns", "exec", self.names[MIDDLE], "sysctl", "-q", "net.ipv4.ip_forward=1")

    def address(self, side, peer):
        """Returns the outer address of a side, as its peer reaches it."""
        if self.kind == "router":
            return "10.9.0.1" if side == 0 else "10.9.1.2"
        link = 1 if self.kind == "peers" and 2 in (side, peer) else 0
        return f"10.9.{link}.{1 if side == 0 else 2}"

    def roam(self):
        """Moves side 1 to the second link, and takes the first down there."""
        name = self.names[1]
        self.ip(name, "link", "set", "veth0", "down")
        self.ip(name, "route", "add", "10.9.0.1/32", "via", "10.9.1.1", "dev", "veth1")

    def start(self, side, command, **options):
        child = subprocess.Popen(["ip", "netns", "exec", self.names[side], *command], **options)
        self.children.append(child)
        return child

    def socket(self, side, kind):
        """Creates a socket in a namespace: a thread moves there and ends."""
        made = []

        def enter():
            with open(f"/run/netns/{self.names[side]}", "rb") as namespace:
                # `os.setns` needs Python 3.12.
                if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(socket.socket(socket.AF_INET, kind))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        return made[0]

    def close(self):
        for child in self.children:
            child.kill()
            child.wait()
        for name in self.names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False)
