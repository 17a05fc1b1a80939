"""A real HTTP server on loopback that speaks the chat-completions protocol and gives prepared replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Script:
    """What the server answers, in order, and what it was asked. An int is answered as an HTTP error of that status."""

    replies: list[str | dict[str, Any] | int]
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(replies: Sequence[str | dict[str, Any] | int]) -> Iterator[Script]:
    """Serve `replies` at script.url until the block ends."""
    script = Script(list(replies))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script.requests.append(json.loads(body))
            reply = script.replies.pop(0) if script.replies else 500
            if isinstance(reply, int):
                self._send(reply, {"error": {"message": "scripted failure"}})
                return
            message = (
                {"role": "assistant", "content": reply} if isinstance(reply, str) else {"role": "assistant", **reply}
            )
            self._send(
                200,
                {
                    "id": "scripted",
                    "object": "chat.completion",
                    "created": 0,
                    "model": script.requests[-1]["model"],
                    "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
                },
            )

        def _send(self, status: int, record: dict[str, Any]) -> None:
            data = json.dumps(record).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
