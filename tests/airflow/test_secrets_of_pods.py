"""Secrets of the models' store and of signatures are mounted into the pods that need them, and no others."""

from collections.abc import Callable
from typing import Any

import pytest


def mounted(pod: Any) -> dict[str, str]:
    """Secrets that are mounted, by the place; every one may be missing."""
    secrets = {volume.name: volume.secret for volume in pod.volumes if volume.secret}
    assert all(secret.optional for secret in secrets.values())
    mounts = pod.containers[0].volume_mounts
    assert len({mount.name for mount in mounts}) == len(mounts)
    return {mount.mount_path: secrets[mount.name].secret_name for mount in mounts if mount.name in secrets}


def test_the_secret_that_a_run_names_is_in_the_folder_where_steps_look(pod_of: Callable[..., Any]) -> None:
    named = {"cos_provider": "aws", "cos_secret_name": "my-cos"}
    for step in ("plan", "publish"):
        assert mounted(pod_of(step, **named))["/etc/kepler-train/secrets/my-cos"] == "my-cos"
    for pod in (pod_of("train", **named), pod_of("publish")):
        assert not [place for place in mounted(pod) if "/secrets/" in place]


@pytest.mark.parametrize(("step", "has_key"), [("publish", True), ("export", False), ("plan", False)])
def test_only_publish_has_the_key_of_signatures(pod_of: Callable[..., Any], step: str, has_key: bool) -> None:
    assert (mounted(pod_of(step)).get("/etc/kepler-train/signing") == "kepler-train-signing") == has_key
