"""What the tests do with a cluster, by its API alone: no kubectl, nothing that only one kind of cluster has."""

from __future__ import annotations

import base64
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import pytest
import yaml
from kubernetes.client.exceptions import ApiException

_DOCKER = Path(__file__).resolve().parents[2] / "docker"
_WORKER = "airflow-worker"

# A process that is killed from inside: the step is not process 1 (see pod.yaml), which nothing inside could kill.
_KILL = "for p in /proc/[0-9]*; do grep -qa 'run-ste[p]' $p/cmdline && kill -9 ${p#/proc/}; done"


class Cluster:
    """One namespace of the cluster that KUBECONFIG names."""

    def __init__(self, image: str) -> None:
        self.image = image
        self.access = os.environ["KUBECONFIG"]  # before the tests of Airflow set theirs to the worker's
        self.namespace = f"kepler-train-test-{secrets.token_hex(3)}"
        # Clients of our own, because Airflow's hook sets the process's default to the worker's access; and one for
        # exec alone, because it turns its client's requests into websockets.
        self.api = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config())
        self._exec = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config())

    def create(self) -> None:
        """Apply docker/kubernetes, in this namespace."""
        for document in _manifests():
            if document["kind"] == "Namespace":
                document["metadata"]["name"] = self.namespace
            else:
                document["metadata"]["namespace"] = self.namespace
            for subject in document.get("subjects", []):
                subject["namespace"] = self.namespace
            kubernetes.utils.create_from_dict(self.api.api_client, document)
        self.api.create_namespaced_service_account(self.namespace, {"metadata": {"name": _WORKER}})

    def remove(self) -> None:
        """Remove the namespace and all that is in it; not waited for."""
        self.api.delete_namespace(self.namespace)

    def worker_access(self, file: Path) -> Path:
        """A kubeconfig with the rights that Airflow's workers have by docker/kubernetes, and no others."""
        token = self.api.create_namespaced_service_account_token(
            _WORKER, self.namespace, {"spec": {"expirationSeconds": 7200}}
        ).status.token
        admin = self.api.api_client.configuration
        authority = base64.b64encode(Path(admin.ssl_ca_cert).read_bytes()).decode()
        name = {"name": "worker"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{**name, "cluster": {"server": admin.host, "certificate-authority-data": authority}}],
            "users": [{**name, "user": {"token": token}}],
            "contexts": [{**name, "context": {"cluster": "worker", "user": "worker", "namespace": self.namespace}}],
            "current-context": "worker",
        }
        file.touch(mode=0o600)
        file.write_text(json.dumps(content))
        return file

    def secret(self, name: str, values: dict[str, str]) -> None:
        """Make a secret."""
        self.api.create_namespaced_secret(self.namespace, {"metadata": {"name": name}, "stringData": values})

    def run(self, *command: str) -> tuple[int, str]:
        """Exit code and log of a pod that is like a step's, but for its command; skips without the image."""
        pod = yaml.safe_load((_DOCKER / "step" / "pod.yaml").read_text())
        pod["metadata"]["name"] = name = f"probe-{secrets.token_hex(3)}"
        pod["spec"]["containers"][0] |= {"image": self.image, "command": list(command)}
        self.api.create_namespaced_pod(self.namespace, pod)
        deadline = time.monotonic() + 120
        while (status := self.api.read_namespaced_pod_status(name, self.namespace).status).phase not in (
            "Succeeded",
            "Failed",
        ):
            waiting = [one.state.waiting for one in status.container_statuses or [] if one.state.waiting]
            if any(state.reason in ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull") for state in waiting):
                pytest.skip(f"the cluster has no image {self.image}: build and load it, or set KEPLER_TRAIN_IMAGE")
            assert time.monotonic() < deadline, f"{name} is {status.phase}: {waiting}"
            time.sleep(0.2)
        log = self.api.read_namespaced_pod_log(name, self.namespace, _preload_content=False)
        return status.container_statuses[0].state.terminated.exit_code, log.data.decode()

    def pods(self, run: str, step: str = "") -> list[Any]:
        """The pods of a run, or of one of its steps, that are there."""
        label = f"kepler-train/step={step}" if step else "kepler-train/step"
        found = self.api.list_namespaced_pod(self.namespace, label_selector=label).items
        return [pod for pod in found if any(argument.endswith(f"/{run}") for argument in pod.spec.containers[0].args)]

    def running(self, run: str, step: str, seconds: int = 180) -> Iterator[Any]:
        """Pods of a step of a run, each as soon as its container runs."""
        seen = set()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for pod in self.pods(run, step):
                if pod.status.phase == "Running" and pod.metadata.name not in seen:
                    seen.add(pod.metadata.name)
                    yield pod
            time.sleep(0.1)
        raise AssertionError(f"No pod of {step} ran within {seconds} s.")

    def delete_at_once(self, pod: Any) -> None:
        """As `kubectl delete pod --force`, or a node that is lost."""
        self.api.delete_namespaced_pod(pod.metadata.name, self.namespace, grace_period_seconds=0)

    def kill_inside(self, pod: Any) -> bool:
        """SIGKILL to the step's process; whether that is how the pod ended."""
        name = pod.metadata.name
        try:
            kubernetes.stream.stream(
                self._exec.connect_get_namespaced_pod_exec,
                name,
                self.namespace,
                command=["sh", "-c", _KILL],
                stdout=True,
                stderr=True,
            )
            while (status := self.api.read_namespaced_pod_status(name, self.namespace).status).phase == "Running":
                time.sleep(0.1)
        except (ApiException, AttributeError):  # it was faster than we; the client trips over an answer without body
            return False
        return bool(status.container_statuses[0].state.terminated.exit_code == 137)


def _manifests() -> list[dict[str, Any]]:
    """The namespace first: the others live in it."""
    files = sorted((_DOCKER / "kubernetes").glob("*.yaml"))
    found = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    return sorted(found, key=lambda document: document["kind"] != "Namespace")
