"""The bytes between the guard's host, its helper and the helper's children.

Control socket, host to helper: `COMMAND` (operation, pid). Helper to host: one JSON frame at the start (null, or the
text of what went wrong), then one `REPLY` for each `TAKE` (with the child's socket attached) and each `END`.
A child's socket: `REQUEST` (sizes and limits) and the request's JSON, answered by one JSON frame.
A frame is `LENGTH` and as many bytes of UTF-8.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

JSON = Any

COMMAND = struct.Struct("<Bi")  # operation, pid (0 for TAKE)
TAKE, FORGET, END = range(3)  # hand over a child; kill and reap it without a reply; kill, reap and report

REPLY = struct.Struct("<iidq")  # pid or -errno, wait status, processor time in s, peak resident memory in KiB
REQUEST = struct.Struct("<QQII")  # bytes of JSON, fuel, processor time in s, memory in MiB
LENGTH = struct.Struct("<Q")


def encode(value: JSON) -> bytes:
    """Return `value` as compact JSON. NaN and infinity are refused with ValueError: they are no JSON."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def decode(data: bytes | bytearray) -> JSON:
    """Return the value of JSON bytes made by `encode`."""
    return json.loads(data.decode("utf-8", "surrogatepass"))


def frame(value: JSON) -> bytes:
    """Return `value` as a frame: its length and its JSON."""
    data = encode(value)
    return LENGTH.pack(len(data)) + data


def receive_exactly(source: socket.socket, count: int) -> bytearray:
    """Read `count` bytes from a blocking socket. Raises EOFError where the stream ends before.

    The buffer is allocated in one piece, so that the heap of a child does not depend on how the bytes arrived.
    """
    buffer = bytearray(count)
    view = memoryview(buffer)
    got = 0
    while got < count:
        received = source.recv_into(view[got:])
        if not received:
            raise EOFError(f"stream ended after {got} of {count} bytes")
        got += received
    return buffer
