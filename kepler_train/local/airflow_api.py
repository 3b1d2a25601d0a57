"""A client of Airflow's REST API, as much of it as the demo and the tests need."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import requests

from kepler_train.errors import TryAgain, UserError
from kepler_train.local.login import Login

_FINISHED = {"success", "failed"}


class AirflowApi:
    """A client with a login: `AirflowApi(url, Login(home)).trigger("train_rapl_BPFOnly", {"nodes": ["n1"]})`."""

    def __init__(self, url: str, login: Login) -> None:
        self.url = url.rstrip("/")
        self._login = login
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy must not see the password of a server of this machine

    def dags(self) -> list[str]:
        """Return the DAGs that Airflow knows."""
        return [dag["dag_id"] for dag in self._call("GET", "/dags", params={"limit": 1000})["dags"]]

    def wait_dag(self, dag_id: str, seconds: float = 60.0) -> None:
        """Wait until Airflow has read the file that holds a DAG."""
        deadline = time.monotonic() + seconds
        while dag_id not in self.dags():
            if time.monotonic() > deadline:
                errors = self.import_errors()
                raise UserError(
                    f"Airflow has no DAG {dag_id!r} after {seconds:.0f} s; import errors: {errors or 'none'}."
                )
            time.sleep(0.5)

    def import_errors(self) -> dict[str, str]:
        """Return the files that Airflow could not import, with the traceback."""
        return {
            error["filename"]: error["stack_trace"] for error in self._call("GET", "/importErrors")["import_errors"]
        }

    def unpause(self, dag_id: str) -> None:
        """Let a DAG run."""
        self._call("PATCH", f"/dags/{dag_id}", json={"is_paused": False})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None) -> str:
        """Start a run now, of no data interval, and return its id."""
        body = {"logical_date": None, "conf": dict(conf or {})}
        return str(self._call("POST", f"/dags/{dag_id}/dagRuns", json=body)["dag_run_id"])

    def run_state(self, dag_id: str, run_id: str) -> str:
        """Return queued, running, success or failed."""
        return str(self._call("GET", f"/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def wait_run(
        self, dag_id: str, run_id: str, seconds: float = 600.0, look: Callable[[], None] = lambda: None
    ) -> str:
        """Wait for the end of a run, through restarts of the API server; return success or failed.

        `look` is called after every reading of the state.
        """
        deadline = time.monotonic() + seconds
        state = "unknown"
        while state not in _FINISHED:
            if time.monotonic() > deadline:
                raise TryAgain(f"The run {run_id} of {dag_id} is still {state} after {seconds:.0f} s.")
            time.sleep(0.5)
            with suppress(TryAgain):  # Airflow is being restarted; the run goes on when it is back
                state = self.run_state(dag_id, run_id)
                look()
        return state

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """Return the tasks of a run: task_id, map_index, state, try_number and more."""
        answer = self._call("GET", f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances", params={"limit": 1000})
        return list(answer["task_instances"])

    def task_log(self, dag_id: str, run_id: str, task_id: str, try_number: int = 1, map_index: int = -1) -> str:
        """Return the log of one try of a task."""
        path = f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task_id}/logs/{try_number}"
        content = self._call("GET", path, params={"map_index": map_index, "full_content": True})["content"]
        return "\n".join(line["event"] if isinstance(line, dict) else str(line) for line in content)

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        for attempt in (1, 2):
            try:
                if "Authorization" not in self._session.headers or attempt == 2:
                    self._session.headers["Authorization"] = f"Bearer {self._token()}"
                answer = self._session.request(method, f"{self.url}/api/v2{path}", timeout=30, **options)
            except (requests.RequestException, ValueError, KeyError) as error:
                raise TryAgain(f"Airflow at {self.url} does not answer ({type(error).__name__}).") from error
            if answer.status_code != 401:
                break
        if answer.status_code >= 500:
            raise TryAgain(f"Airflow at {self.url} answered {method} {path} with {answer.status_code}.")
        if not answer.ok:
            raise UserError(f"Airflow refused {method} {path} ({answer.status_code}): {_detail(answer)}.")
        return dict(answer.json()) if answer.content else {}

    def _token(self) -> str:
        """Log in."""
        body = {"username": self._login.user, "password": self._login.password}
        answer = self._session.post(f"{self.url}/auth/token", json=body, timeout=10)
        if answer.status_code == 401:
            raise UserError(f"Airflow at {self.url} refused the password in {self._login.file}.")
        return str(answer.json()["access_token"])


def airflow_health(url: str, seconds: float) -> dict[str, Any]:
    """Return Airflow's report on its parts, which needs no login; nothing when it does not answer in time."""
    try:
        answer = _ask_health(url, seconds)
        return dict(answer.json()) if answer.ok else {}
    except (requests.RequestException, ValueError):
        return {}


def refuses_foreign_hosts(url: str, seconds: float) -> bool:
    """Return whether Airflow refuses a request that names another host, as one by DNS rebinding does."""
    try:
        return _ask_health(url, seconds, {"Host": "foreign.invalid"}).status_code == 403
    except requests.RequestException:
        return False


def _ask_health(url: str, seconds: float, headers: Mapping[str, str] | None = None) -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False
        return session.get(f"{url}/api/v2/monitor/health", headers=headers, timeout=seconds)


def _detail(answer: requests.Response) -> str:
    try:
        return str(answer.json().get("detail", answer.text))[:400]
    except ValueError:
        return answer.text[:400]
