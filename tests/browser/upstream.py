"""A model that thinks and answers what it is told to, a piece at a time, over the chat wire."""

import http.server
import json
import threading
import time


class Upstream:
    """Its requests carry in their last message, as JSON, what it thinks (`thought`), answers (`answer`), and how many
    seconds it takes between two pieces (`pause`); or the error that it gives (`error`), if a message has a field that it
    refuses, that (`refuse`)."""

    def __enter__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        wish = json.loads(asked["messages"][-1]["content"])
        if wish.get("refuse") and any(wish["refuse"] in it for it in asked["messages"]):
            return self.whole(400, {"error": {"message": f"messages.1: property '{wish['refuse']}' is unsupported", "type": "invalid_request_error"}})
        if "error" in wish:
            return self.whole(400, {"error": {"message": wish["error"], "type": "invalid_request_error"}})
        thought, answer = wish.get("thought", ""), wish.get("answer", "")
        time.sleep(wish.get("wait", 0))
        if wish.get("stamp"):
            # When it was thought, in Unix milliseconds: whoever shows it knows how late.
            thought = f"@{time.time() * 1000:.0f}@ {thought}"
        size = wish.get("size", 400)
        usage = {"prompt_tokens": 1200, "completion_tokens": (len(thought) + len(answer)) // 4 + 1,
                 "total_tokens": 1201 + (len(thought) + len(answer)) // 4,
                 "prompt_tokens_details": {"cached_tokens": 800},
                 "completion_tokens_details": {"reasoning_tokens": len(thought) // 4}}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for field, text in [("reasoning_content", thought), ("content", answer)]:
            for at in range(0, len(text), size):
                self.piece({"choices": [{"index": 0, "delta": {field: text[at:at + size]}}]})
                time.sleep(wish.get("pause", 0))
        self.piece({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self.piece({"choices": [], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def whole(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def piece(self, data):
        self.chunk(b"data: " + json.dumps({"id": "c1", "model": "m", **data}).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
