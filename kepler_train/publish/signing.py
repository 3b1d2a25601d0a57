"""Sign a version with a key of the publisher's, and check that of others: OpenSSF model-signing, elliptic curve keys.

The signature is `model.sig` in the version, and `model_signing verify key` of other machines reads it too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kepler_train.errors import UserError
from kepler_train.publish.sums import SIGNATURE

KEY = "KEPLER_TRAIN_SIGNING_KEY"
PASSWORD_FILE = "KEPLER_TRAIN_SIGNING_PASSWORD_FILE"  # noqa: S105 - a variable that names a file
SIGNING_FOLDER = "/etc/kepler-train/signing"
"""Where the secret with the key is mounted in a pod: `key`, and `password` where that has one."""


def sign_version(folder: Path) -> bool:
    """Sign the files of a version with the key that the environment names or a pod has; return whether there is one."""
    name = os.environ.get(KEY) or _mounted("key")
    if not name:
        return False
    key = _readable(name, KEY)
    secret = os.environ.get(PASSWORD_FILE) or _mounted("password")
    # Bytes, although the library says text: it hands them to cryptography as they are.
    password = _readable(secret, PASSWORD_FILE).read_bytes().strip() if secret else None
    library = _library()
    try:
        config = library.signing.Config().set_hashing_config(_hashed(library))
        config.use_elliptic_key_signer(private_key=key, password=password).sign(folder, folder / SIGNATURE)
    except (ValueError, TypeError, AttributeError):  # of a library below, which may quote the key
        raise UserError(
            f"{KEY}: {key} is not a private key that can be used: give one of P-256, P-384 or P-521 in PEM"
            f" form, and the file of its password in {PASSWORD_FILE} if it has one."
        ) from None
    return True


def check_signature(folder: Path, public_key: Path, what: str) -> None:
    """Refuse a version without a signature by the owner of this key, or with files that were not signed."""
    key = _readable(str(public_key), "--public-key")
    if not (folder / SIGNATURE).is_file():
        raise UserError(f"{what} is not signed, and --public-key {public_key} asks for a signature.")
    library = _library()
    try:
        config = library.verifying.Config().set_hashing_config(_hashed(library))
        checked = config.use_elliptic_key_verifier(public_key=key)
    except (ValueError, TypeError, AttributeError):
        raise UserError(f"--public-key {key} is not a public key of an elliptic curve in PEM form.") from None
    try:
        checked.verify(folder, folder / SIGNATURE)
    except Exception as error:  # whatever is in that file, it is no signature by this key of these files
        why = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{what} is not signed by the owner of --public-key {key}: {why}. Do not use it.") from None


def _hashed(library: Any) -> Any:
    """Return what is signed: every file but the signature, also those that git would leave out."""
    return library.hashing.Config().set_ignored_paths(paths=[SIGNATURE], ignore_git_paths=False)


def _mounted(name: str) -> str:
    path = Path(SIGNING_FOLDER, name)
    return str(path) if path.is_file() else ""


def _readable(name: str, setting: str) -> Path:
    path = Path(name).expanduser()
    try:
        path.open("rb").close()
    except OSError as error:
        raise UserError(f"{setting}: {path} cannot be read: {error.strerror}.") from None
    return path


def _library() -> Any:
    """Import what takes half a second, and what not everybody has installed."""
    try:
        import model_signing
    except ImportError:
        raise UserError(
            "Signatures need model-signing, which is not installed: install kepler-train[signing]."
        ) from None
    return model_signing
