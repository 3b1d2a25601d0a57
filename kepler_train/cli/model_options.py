"""What the commands on published models share: options, the form of an answer, and where models are."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kepler_train.errors import Skipped, UserError

if TYPE_CHECKING:
    from kepler_train.publish.target import Target


class Format(StrEnum):
    """The form of an answer."""

    TABLE = "table"
    JSON = "json"


Place = Annotated[
    str,
    typer.Option(
        "-t",
        "--target",
        envvar="KEPLER_TRAIN_MODELS",
        help="Folder or s3://bucket/prefix of the models; default: MODEL_PATH, else models/ of the workspace.",
    ),
]
AnswerFormat = Annotated[Format, typer.Option("--format", help="A table for people or JSON for programs.")]
Pipeline = Annotated[str, typer.Argument(help="Name of the pipeline.")]
Version = Annotated[str, typer.Argument(help="A version, or the beginning of its name that no other has.")]
PublicKey = Annotated[
    Path | None,
    typer.Option(
        "--public-key", envvar="KEPLER_TRAIN_PUBLIC_KEY", help="PEM file: refuse what its owner has not signed."
    ),
]
LATEST = "latest"


def open_models(target: str) -> Target:
    """Return the target of that address, or where models are unless one is named."""
    from kepler_train.publish.target import open_target

    provider, secret = os.environ.get("COS_PROVIDER", "none").lower(), os.environ.get("COS_SECRET_NAME", "")
    if provider in ("aws", "ibmcloud"):
        from kepler_train.workspace.store_keys import grant

        if not target or target.lower().startswith("s3:"):
            try:
                return open_target(grant(provider, secret, target))
            except Skipped as error:  # who types a command wants an answer
                raise UserError(str(error)) from None
    elif provider not in ("", "none"):
        raise UserError(f"COS_PROVIDER is {provider!r}: it may be aws, ibmcloud or none.")
    return open_target(target or models_place())


def models_place() -> str:
    """Return where models are unless a target is named: as other commands find them, else as the stack does."""
    if folder := os.environ.get("MODEL_PATH"):
        return folder
    if workspace := os.environ.get("KEPLER_TRAIN_WORKSPACE"):
        return f"{workspace.rstrip('/')}/models"
    home = Path(os.environ.get("KEPLER_TRAIN_HOME") or "~/.kepler-train").expanduser()
    of_stack = home / "workspace" / "models"
    return str(of_stack) if of_stack.is_dir() and not Path("models").is_dir() else "models"
