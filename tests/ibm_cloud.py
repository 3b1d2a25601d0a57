"""IBM Cloud Object Storage in front of the real S3 server: a token endpoint, and a proxy that demands its tokens."""

from __future__ import annotations

import json
import threading
import time
import uuid
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from kepler_train.local.seaweedfs import SeaweedServer

API_KEY = "an-api-key-of-ibm-cloud"
_GRANT = "urn:ibm:params:oauth:grant-type:apikey"
_HANDED_ON = {"content-type", "content-md5", "if-match", "if-none-match", "range"}


class IbmCloud:
    """Both servers: `endpoint` for objects, `iam` for tokens, which live `life` seconds."""

    def __init__(self, server: SeaweedServer, life: float = 3600) -> None:
        self.life, self.tokens = life, dict[str, float]()
        self.refused: list[str] = []
        self.requests = 0
        self._keys = Credentials(server.access_key, server.secret_key)
        self._upstream = urlsplit(server.endpoint).netloc
        self._objects = ThreadingHTTPServer(("127.0.0.1", 0), _objects(self))
        self._iam = ThreadingHTTPServer(("127.0.0.1", 0), _tokens(self))
        self.endpoint = f"http://127.0.0.1:{self._objects.server_address[1]}"
        self.iam = f"http://127.0.0.1:{self._iam.server_address[1]}/identity/token"

    def __enter__(self) -> Self:
        for server in (self._objects, self._iam):
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self._objects, self._iam):
            server.shutdown()
            server.server_close()

    def token(self, api_key: str) -> dict[str, object] | None:
        if api_key != API_KEY:
            return None
        token = uuid.uuid4().hex
        self.tokens[token] = time.monotonic() + self.life
        return {"access_token": token, "expires_in": self.life, "token_type": "Bearer"}

    def allows(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind == "Bearer" and self.tokens.get(token, 0) > time.monotonic()

    def ask(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Ask the S3 server with its own keys."""
        url = f"http://{self._upstream}{path}"
        request = AWSRequest(method, url, headers={**headers, "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}, data=body)
        S3SigV4Auth(self._keys, "s3", "us-east-1").add_auth(request)
        connection = HTTPConnection(self._upstream, timeout=30)
        try:
            connection.request(method, path, body, dict(request.headers.items()))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()


def _objects(cloud: IbmCloud) -> type[BaseHTTPRequestHandler]:
    class Objects(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            cloud.requests += 1
            if not cloud.allows(self.headers.get("Authorization", "")):
                cloud.refused.append(f"{self.command} {self.path}")
                self._answer(403, {}, b"<Error><Code>AccessDenied</Code><Message>no token</Message></Error>")
                return
            headers = {name: value for name, value in self.headers.items() if name.lower() in _HANDED_ON}
            self._answer(*cloud.ask(self.command, self.path, headers, body))

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve  # noqa: N815 - names of BaseHTTPRequestHandler

        def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response_only(status)
            length = headers.get("Content-Length", str(len(content)))
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

    return Objects


def _tokens(cloud: IbmCloud) -> type[BaseHTTPRequestHandler]:
    class Tokens(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            found = cloud.token(form["apikey"][0]) if form.get("grant_type") == [_GRANT] else None
            content = json.dumps(found or {"errorMessage": f"Provided API key {form['apikey'][0]} is wrong"}).encode()
            self.send_response(200 if found else 400)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Tokens
