"""Versions are signed where the publisher has a key, and who gives a public key takes nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from published_pipelines import ZIP, published
from publishing import Publishing

from kepler_train.errors import UserError
from kepler_train.publish.pull import fetch_verified
from kepler_train.publish.signing import KEY, PASSWORD_FILE, check_signature
from kepler_train.publish.target import open_target

pytest.importorskip("model_signing")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Private and public keys of the publisher (`one`) and of somebody else (`other`); `locked` has a password."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    folder = tmp_path_factory.mktemp("keys")
    kinds = {"one": ec.generate_private_key(ec.SECP256R1()), "other": ec.generate_private_key(ec.SECP256R1())}
    kinds |= {"locked": kinds["one"], "rsa": rsa.generate_private_key(65537, 2048)}
    for name, key in kinds.items():
        lock = form.BestAvailableEncryption(b"hunter2") if name == "locked" else form.NoEncryption()
        private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, lock)
        public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        (folder / name).write_bytes(private)
        (folder / f"{name}.pub").write_bytes(public)
    (folder / "password").write_text("hunter2\n")
    return folder


def signed(publishing: Publishing, work: Path, key: Path | None, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A target, and the version that was published there with a key, or without."""
    uri = publishing.new()
    monkeypatch.setenv(KEY, str(key) if key else "")
    return uri, published(open_target(uri), work, "lab", 1).record.version


def test_a_signed_version_is_what_its_publisher_signed(
    publishing: Publishing, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, version = signed(publishing, tmp_path, keys / "one", monkeypatch)
    target = open_target(uri)
    assert fetch_verified(target, "lab", version, tmp_path / "a", keys / "one.pub").signed
    record = json.loads(target.store.read("lab/versions.json") or b"")["versions"][0]
    assert record["signed"]
    with pytest.raises(UserError, match=r"is not signed by the owner of --public-key .*/other\.pub"):
        fetch_verified(target, "lab", version, tmp_path / "b", keys / "other.pub")
    published(target, tmp_path, "lab", 1)  # again: another signature of the same files, and the first stays
    assert fetch_verified(target, "lab", version, tmp_path / "c", keys / "one.pub").signed


def test_the_tool_of_the_library_reads_the_signature(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, version = signed(Publishing("folder", tmp_path), tmp_path, keys / "one", monkeypatch)
    place = Path(uri) / "lab" / version
    words = ["verify", "key", str(place), "--signature", str(place / "model.sig"), "--public_key"]
    for key, code in (("one.pub", 0), ("other.pub", 1)):
        done = subprocess.run([sys.executable, "-m", "model_signing", *words, str(keys / key)], capture_output=True)
        assert done.returncode == code, done.stderr


def test_without_a_key_a_version_is_unsigned_and_refused_where_a_signature_is_asked_for(
    publishing: Publishing, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, version = signed(publishing, tmp_path, None, monkeypatch)
    target = open_target(uri)
    assert not fetch_verified(target, "lab", version, tmp_path / "a").signed
    with pytest.raises(UserError, match=rf"The version {version} of lab at .* is not signed, and --public-key"):
        fetch_verified(target, "lab", version, tmp_path / "b", keys / "one.pub")
    monkeypatch.setenv(KEY, str(keys / "one"))
    assert published(target, tmp_path, "lab", 1).record.signed  # published again with a key
    assert fetch_verified(target, "lab", version, tmp_path / "c", keys / "one.pub").signed


def test_a_changed_byte_is_refused_by_the_signature_alone(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, version = signed(Publishing("folder", tmp_path), tmp_path, keys / "one", monkeypatch)
    place = Path(uri) / "lab" / version
    check_signature(place, keys / "one.pub", "It")
    for name in (ZIP, "SHA256SUMS", "model.sig"):
        content = (place / name).read_bytes()
        (place / name).write_bytes(
            content[:-40] + bytes([content[-40] ^ 1]) + content[-39:] if name != ZIP else b"evil"
        )
        with pytest.raises(UserError, match="It is not signed by the owner of --public-key"):
            check_signature(place, keys / "one.pub", "It")
        (place / name).write_bytes(content)
    (place / ".gitignore").write_text("more")
    with pytest.raises(UserError, match="It is not signed by the owner"):
        check_signature(place, keys / "one.pub", "It")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("nowhere", f"{KEY}: .*/nowhere cannot be read: No such file or directory"),
        ("rsa", f"{KEY}: .*/rsa is not a private key that can be used: give one of P-256"),
        ("one.pub", f"{KEY}: .*/one.pub is not a private key"),
        ("locked", f"{KEY}: .*/locked is not a private key .* its password in {PASSWORD_FILE}"),
    ],
)
def test_a_key_that_cannot_sign_is_one_sentence_and_nothing_is_published(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, words: str
) -> None:
    publishing = Publishing("folder", tmp_path)
    with pytest.raises(UserError, match=words):
        signed(publishing, tmp_path, keys / key, monkeypatch)
    assert not list(tmp_path.glob("*/lab"))


def test_a_locked_key_needs_the_file_of_its_password(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD_FILE, str(keys / "password"))
    uri, version = signed(Publishing("folder", tmp_path), tmp_path, keys / "locked", monkeypatch)
    assert fetch_verified(open_target(uri), "lab", version, tmp_path / "a", keys / "one.pub").signed


def test_a_public_key_that_is_none_is_one_sentence(keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri, version = signed(Publishing("folder", tmp_path), tmp_path, keys / "one", monkeypatch)
    for name, words in (("password", "is not a public key"), ("nowhere", "cannot be read"), ("rsa.pub", "is not")):
        with pytest.raises(UserError, match=rf"--public-key.*{name}.*{words}"):
            fetch_verified(open_target(uri), "lab", version, tmp_path / name, keys / name)


def test_commands_that_sign_nothing_do_not_load_the_library() -> None:
    code = "import sys, kepler_train.publish.step, kepler_train.cli.app; print('model_signing' in sys.modules)"
    began = time.monotonic()
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=True)
    assert said.stdout.strip() == "False", f"after {time.monotonic() - began:.1f} s"
