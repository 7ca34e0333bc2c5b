"""Starts the ends of a tunnel. Each end has the inner address 10.10.0.SIDE+1."""

import os
import pathlib
import socket
import subprocess
import time

# X25519 keys of the ends: the private key is one byte 32 times.
PUBLIC_KEYS = [
    "a4e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209",
    "ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59",
    "5dfedd3b6bd47f6fa28ee15d969d5bb0ea53774d488bdaf9df1c6e0124b3ef22",
]
MTU = 1420
# A shaper behind which a queue forms must be a little slower than the bottleneck.
SHARE_OF_RATE = 0.95


def inner(side):
    return f"10.10.0.{side + 1}"


def ends_of(world):
    """Returns the sides with an end of the tunnel, and the peers of each."""
    others = [side for side in world.sides if side in (1, 2)]
    return {0: others, **{side: [0] for side in others}}


def wait_until(condition, world, what):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if any(child.poll() is not None for child in world.children):
            raise SystemExit("an end of the tunnel stopped")
        if condition():
            return
        time.sleep(0.05)
    raise SystemExit(f"{what} did not appear")


class Tunnel:
    """The example tunnel, which sets its own address. It has two ends and no other kinds."""

    kinds, modes = ("direct", "both"), ("plain", "taut")

    def __init__(self, path):
        self.path = path

    def start(self, world, mode, _rate):
        for side, (peer,) in ends_of(world).items():
            world.start(side, [self.path, mode, inner(side), f"{world.address(side, peer)}:5000",
                               f"{world.address(peer, side)}:5000"])
        for side in ends_of(world):
            shown = ["ip", "-n", world.names[side], "-br", "address"]
            wait_until(lambda: inner(side) in subprocess.run(
                shown, capture_output=True, text=True, check=True).stdout, world, "the tunnel")


class GotaTun:
    """GotaTun, which the protocol of `wg` configures."""

    kinds, modes = ("direct", "both", "peers", "roaming", "router"), ("plain", "dql", "taut")

    def __init__(self, path):
        self.path = path

    def start(self, world, mode, rate):
        ends = ends_of(world)
        for side, peers in ends.items():
            world.start(side, [self.path, *self.options(peers, mode, rate), self.name(side)])
        for side, peers in ends.items():
            control = pathlib.Path(f"/var/run/wireguard/{self.name(side)}.sock")
            wait_until(control.exists, world, str(control))
            self.configure(world, side, peers, str(control))
            control.unlink()
            name, device = world.names[side], self.name(side)
            world.ip(name, "address", "add", f"{inner(side)}/24", "dev", device)
            world.ip(name, "link", "set", device, "mtu", str(MTU), "up")

    @staticmethod
    def options(peers, mode, rate):
        options = ["--paths", str(len(peers)), "--limit", mode]
        if mode == "shaper":
            options[-1:] = ["taut", "--rate", f"{int(rate * SHARE_OF_RATE)}bit"]
        return options

    @staticmethod
    def name(side):
        return f"gt{os.getpid()}{side}"

    @staticmethod
    def configure(world, side, peers, control):
        lines = ["set=1", f"private_key={side + 1:02x}" + f"{side + 1:02x}" * 31,
                 "listen_port=5000"]
        for peer in peers:
            lines += [f"public_key={PUBLIC_KEYS[peer]}",
                      f"endpoint={world.address(peer, side)}:5000",
                      # After a move, the first packet of this side has its new address.
                      f"persistent_keepalive_interval={0 if side == 0 else 1}",
                      f"allowed_ip={inner(peer)}/32"]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(control)
            connection.sendall("\n".join([*lines, "", ""]).encode())
            answer = connection.recv(200).decode()
        if "errno=0" not in answer:
            raise SystemExit(f"{control}: {answer}")


class WireGuardGo(GotaTun):
    """wireguard-go, with one queue for all peers and no shaper."""

    kinds = ("direct", "both")

    @staticmethod
    def options(_peers, mode, _rate):
        return ["--limit", mode]


PROGRAMS = {"tunnel": Tunnel, "gotatun": GotaTun, "wireguard-go": WireGuardGo}
