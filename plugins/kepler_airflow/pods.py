"""A step as a pod."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.cncf.kubernetes.utils.pod_manager import PodManager
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from kubernetes.client.exceptions import ApiException

from kepler_airflow import command
from kepler_airflow.params import spec_of
from kepler_airflow.retries import raise_for
from kepler_airflow.settings import settings
from kepler_train.publish.signing import SIGNING_FOLDER
from kepler_train.workspace.store_keys import SECRETS_FOLDER

if TYPE_CHECKING:
    from airflow.sdk import Context
    from kubernetes.client import models as k8s

_HOSTNAME = "kubernetes.io/hostname"
_REFUSED_FOR_GOOD = {400, 401, 403, 404, 422}
_NEVER_RAN = {"StartError", "ContainerCannotRun"}
_ENDED = {"Succeeded", "Failed"}
_SIGNING, _SIGNING_SECRET = "publish", "kepler-train-signing"
_WITH_MODELS = {"plan", "publish"}  # steps that read or write where models are published


class PodFollower(PodManager):
    """Follows a pod to its end. The log ends first, then the container, then the pod: a moment lies between them.

    Without waiting for that moment Airflow shows the last second of the log twice, and then sleeps for two.
    """

    def container_is_running(self, pod: k8s.V1Pod, container_name: str) -> bool:
        """Tell whether it still runs, when its log has ended."""
        return not _comes_true(lambda: not super(PodFollower, self).container_is_running(pod, container_name), 3)

    def await_pod_completion(self, pod: k8s.V1Pod, *arguments: Any, **options: Any) -> k8s.V1Pod:
        """Return the pod when it has ended."""
        _comes_true(lambda: self.read_pod(pod).status.phase in _ENDED, 3)
        return super().await_pod_completion(pod, *arguments, **options)


class PodStep(KubernetesPodOperator):
    """Runs `kepler-train run-step` in a pod and shows its lines as the task's log.

    Everything about the pod that is the same for all steps — service account, security, resources, secrets — is in
    the pod template file. Results travel through the workspace, so no XCom sidecar is needed.
    """

    template_fields = (*KubernetesPodOperator.template_fields, "part")

    def __init__(self, *, step: str, part: str = "", **kwargs: Any) -> None:
        chosen = settings()
        own_template = chosen.stress_pod_template if step == command.STRESS else ""
        kubeconfig = os.environ.get("KUBECONFIG")
        super().__init__(
            name=f"kepler-train-{step}",
            namespace=chosen.namespace,
            image=chosen.image,
            pod_template_file=own_template or chosen.pod_template,
            arguments=command.arguments(step, part),
            env_vars=command.environment(step),
            labels={"app.kubernetes.io/name": "kepler-train", "kepler-train/step": step},
            config_file=kubeconfig,
            in_cluster=False if kubeconfig else None,
            do_xcom_push=False,
            durable=True,  # a worker that comes back finds the pod of the one that was lost
            log_formatter=lambda _, line: line.rstrip(),  # as the step said it
            startup_check_interval_seconds=1,
            startup_timeout_seconds=600,  # a node that has to pull the image; one that cannot pull it fails at once
            on_finish_action="delete_succeeded_pod",  # failures stay to be looked at
            log_pod_spec_on_failure=False,
            termination_message_policy="FallbackToLogsOnError",  # an argument's default would win over the template
            **kwargs,
        )
        self.step, self.part = step, part

    def execute(self, context: Context) -> None:
        """Run the pod to its end."""
        try:
            super().execute(context)
            return
        except ApiException as error:
            if self.pod is None:
                raise _refusal(error) from None
        except AirflowException:
            pass  # said below in one sentence, without Airflow's picture of the pod
        self._explain(self._last_seen())

    @cached_property
    def pod_manager(self) -> PodManager:
        """What follows the pod."""
        return PodFollower(kube_client=self.client, callbacks=self.callbacks)

    def build_pod_request_obj(self, context: Context | None = None, *, dry_run: bool = False) -> k8s.V1Pod:
        """Return the pod to request."""
        pod = super().build_pod_request_obj(context, dry_run=dry_run)
        container = pod.spec.containers[0]
        container.command = [_literal(word) for word in container.command or []]
        container.args = [_literal(word) for word in container.args]
        for variable in container.env:
            variable.value = _literal(variable.value) if variable.value else variable.value
        if self.step == command.STRESS:
            self._place_stress(pod, context)
        name = spec_of(context).cos_secret_name if context and self.step in _WITH_MODELS else ""
        if name:
            _mount_secret(pod, name, f"{SECRETS_FOLDER}/{name}")
        if self.step == _SIGNING:
            _mount_secret(pod, _SIGNING_SECRET, SIGNING_FOLDER)
        return pod

    def _place_stress(self, pod: k8s.V1Pod, context: Context | None) -> None:
        """Place the pod on the node that is measured, with all its CPUs, unless its own template says otherwise."""
        nodes = spec_of(context).nodes if context else []
        if len(nodes) == 1 and _HOSTNAME not in (pod.spec.node_selector or {}):
            pod.spec.node_selector = {**(pod.spec.node_selector or {}), _HOSTNAME: nodes[0]}
        resources = pod.spec.containers[0].resources
        if not settings().stress_pod_template and resources and resources.limits:
            resources.limits.pop("cpu", None)  # the load would be less than its label says

    def get_or_create_pod(self, pod_request_obj: k8s.V1Pod, context: Context) -> k8s.V1Pod:
        """Return the pod that a lost worker left running, else a new one; never one that failed in an earlier try."""
        pod = super().get_or_create_pod(pod_request_obj, context)
        if pod.status and pod.status.phase == "Failed":
            self.patch_already_checked(pod)
            pod = super().get_or_create_pod(pod_request_obj, context)
        return pod

    def patch_already_checked(self, pod: k8s.V1Pod, *, reraise: bool = True) -> None:
        """Mark a pod as one of an earlier try; one that is gone needs no mark."""
        try:
            super().patch_already_checked(pod)
        except ApiException as error:
            if error.status != 404 and reraise:
                raise

    def _last_seen(self) -> k8s.V1Pod | None:
        """Return the pod as it is now, after ending one that still runs, so that it does not write beside its retry."""
        pod = self._read()
        if pod is not None and pod.status.phase not in _ENDED:
            self.on_kill()
            _comes_true(lambda: self._read() is None, 60)
        return pod

    def _read(self) -> k8s.V1Pod | None:
        try:
            return self.pod_manager.read_pod(self.pod) if self.pod else None
        except ApiException as error:
            if error.status != 404:
                raise
            return None

    def _explain(self, pod: k8s.V1Pod | None) -> None:
        """Say how the step ended, as every runtime does; before that, what only a pod can suffer."""
        state = self._state(pod)
        ended = state.terminated if state else None
        if ended and ended.reason in _NEVER_RAN:
            raise AirflowFailException(f"The image {self.image} cannot run a step: {ended.message}")
        if ended and ended.reason == "OOMKilled":
            self._try_again(
                f"The step {self.step} needs more memory than its pod may have and was killed:"
                f" raise the limit in {self.pod_template_file}."
            )
        if ended is None and pod is not None:
            self._try_again(f"The pod of the step {self.step} did not come to its end: {_obstacle(pod, state)}.")
        # The template keeps the end of the log with the pod.
        lines = (ended.message or "").strip().splitlines() if ended else []
        raise_for(self.step, ended.exit_code if ended else None, lines[-1] if lines else "")

    def _try_again(self, sentence: str) -> NoReturn:
        self.log.error("%s", sentence)  # the step could not say so itself
        raise AirflowException(sentence)

    def _state(self, pod: k8s.V1Pod | None) -> k8s.V1ContainerState | None:
        statuses = pod.status.container_statuses if pod and pod.status else None
        return next((one.state for one in statuses or [] if one.name == self.base_container_name), None)


def _mount_secret(pod: k8s.V1Pod, name: str, place: str) -> None:
    """Mount a secret, for the steps that need it only; one that does not exist is an empty folder."""
    from kubernetes.client import models as k8s

    volume = f"secret-{len(pod.spec.volumes or [])}"
    secret = k8s.V1SecretVolumeSource(secret_name=name, optional=True)
    pod.spec.volumes = [*(pod.spec.volumes or []), k8s.V1Volume(name=volume, secret=secret)]
    container = pod.spec.containers[0]
    mount = k8s.V1VolumeMount(name=volume, mount_path=place, read_only=True)
    container.volume_mounts = [*(container.volume_mounts or []), mount]


def _comes_true(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for it, but not longer than this."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _refusal(error: ApiException) -> AirflowException:
    """Return the error of a pod that Kubernetes refused: retried for a full quota, else final."""
    try:
        said = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):
        said = error.reason
    for_good = error.status in _REFUSED_FOR_GOOD and "exceeded quota" not in said
    return (AirflowFailException if for_good else AirflowException)(f"Kubernetes refused the pod: {said}")


def _literal(text: str) -> str:
    """Return a text that Kubernetes takes as it is: it reads `$(NAME)` as a reference, and two dollars as one."""
    return text.replace("$", "$$")


def _obstacle(pod: k8s.V1Pod, state: k8s.V1ContainerState | None) -> str:
    """Return why a pod did not come to its end: no image, no room, evicted, or still running."""
    waiting = state.waiting if state else None
    unscheduled = [one for one in pod.status.conditions or [] if one.type == "PodScheduled" and one.status == "False"]
    for said in (pod.status, waiting, *unscheduled):
        if said is not None and (said.reason or said.message):
            return f"{said.reason or ''} {said.message or ''}".strip().rstrip(".")
    return f"it was {pod.status.phase} when its worker lost sight of it"
