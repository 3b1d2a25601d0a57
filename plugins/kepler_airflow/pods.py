"""A step as a pod."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk.exceptions import AirflowException

from kepler_airflow import command
from kepler_airflow.outcome import raise_for
from kepler_airflow.settings import settings

if TYPE_CHECKING:
    from airflow.sdk import Context
    from kubernetes.client import models as k8s


class PodStep(KubernetesPodOperator):
    """Runs `kepler-train run-step` in a pod and shows its lines as the task's log.

    Everything about the pod that is the same for all steps — service account, security, resources, secrets — is in
    the pod template file. Results travel through the workspace, so no XCom sidecar is needed.
    """

    template_fields = (*KubernetesPodOperator.template_fields, "part")

    def __init__(self, *, step: str, part: str = "", **kwargs: Any) -> None:
        chosen = settings()
        kubeconfig = os.environ.get("KUBECONFIG")
        super().__init__(
            name=f"kepler-train-{step}",
            namespace=chosen.namespace,
            image=chosen.image,
            pod_template_file=chosen.pod_template,
            arguments=command.arguments(step, part),
            env_vars=command.environment(step),
            labels={"app.kubernetes.io/name": "kepler-train", "kepler-train/step": step},
            config_file=kubeconfig,
            in_cluster=False if kubeconfig else None,
            do_xcom_push=False,
            container_name_log_prefix_enabled=False,
            startup_check_interval_seconds=1,
            on_finish_action="delete_succeeded_pod",  # failures stay to be looked at
            log_events_on_failure=True,
            **kwargs,
        )
        self.step, self.part = step, part

    def execute(self, context: Context) -> None:
        """Run the pod to its end."""
        try:
            super().execute(context)
        except AirflowException:
            raise_for(self.step, self._exit_code(), self._last_words())
            raise

    def _exit_code(self) -> int | None:
        terminated = self._terminated()
        return terminated.exit_code if terminated else None

    def _last_words(self) -> str:
        """The end of the log: the template's `terminationMessagePolicy` keeps it with the pod."""
        terminated = self._terminated()
        lines = (terminated.message or "").strip().splitlines() if terminated else []
        return lines[-1] if lines else ""

    def _terminated(self) -> k8s.V1ContainerStateTerminated | None:
        status = self.remote_pod.status if self.remote_pod else None
        for container in (status.container_statuses if status else None) or []:
            if container.name == self.base_container_name and container.state:
                return container.state.terminated
        return None
