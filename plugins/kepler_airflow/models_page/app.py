"""The pages: all pipelines, one pipeline with its versions, one version, one model, and two versions side by side.

What they show comes from a place that others may write to. Texts are escaped, only our own script runs, and files are
handed out so that a browser does not take them for pages of this server.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException as StarletteHTTPException

from kepler_airflow.models_page import views
from kepler_airflow.models_page.access import VIEWERS, User, change_token, changes, may_edit
from kepler_airflow.models_page.lazy import PREFIX
from kepler_airflow.models_page.rendering import PAGE_HEADERS, render
from kepler_airflow.models_page.store import NotThere, Pipeline, pipeline_name, pipelines
from kepler_train.errors import KeplerTrainError, TryAgain
from kepler_train.publish.operations import pin, rollback, unpin
from kepler_train.scratch import ScratchFolder

REPORT = "report.html"
# A report may run its own script, but in a place of its own that knows nothing of this server's pages and cookies.
_FILE_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
}
_REPORT_HEADERS = {"Content-Security-Policy": "sandbox allow-scripts", "X-Content-Type-Options": "nosniff"}
_PICTURES = ("image/png", "image/svg+xml")

# No /docs: Airflow does not ask for a login there.
app = FastAPI(title="Models", docs_url=None, redoc_url=None, openapi_url=None, dependencies=[VIEWERS])


@app.get("/", response_class=HTMLResponse)
def all_pipelines(q: str = "", power: str = "") -> Response:
    """Show every pipeline with its best models."""
    return _page("pipelines.html", views.pipelines_page(pipelines(), q, power))


@app.get("/of-dag/{dag_id}")
def pipeline_of_dag(dag_id: str) -> Response:
    """Lead to the pipeline that a DAG publishes, unless a run of it says otherwise."""
    name = pipeline_name(dag_id)
    return RedirectResponse(f"{PREFIX}/pipelines/{quote(name)}" if name in pipelines() else f"{PREFIX}/")


@app.get("/pipelines/{name}", response_class=HTMLResponse)
def one_pipeline(name: str, user: User) -> Response:
    """Show the versions of a pipeline, and its error over time."""
    pipeline = Pipeline.named(name)
    token = change_token(user) if may_edit(user) else ""
    return _page("pipeline.html", views.pipeline_page(pipeline) | {"token": token})


@app.get("/pipelines/{name}/compare", response_class=HTMLResponse)
def two_versions(name: str, a: str = "latest", b: str = "latest") -> Response:
    """Show two versions side by side."""
    pipeline = Pipeline.named(name)
    return _page("compare.html", views.compare_page(pipeline, pipeline.version(a), pipeline.version(b)))


@app.get("/pipelines/{name}/{version}", response_class=HTMLResponse)
def one_version(name: str, version: str) -> Response:
    """Show the models of a version, the best first."""
    pipeline = Pipeline.named(name)
    return _page("version.html", views.version_page(pipeline, pipeline.version(version)))


@app.get("/pipelines/{name}/{version}/models/{folder:path}", response_class=HTMLResponse)
def one_model(name: str, version: str, folder: str) -> Response:
    """Show a model: what it is, how wrong it is under which load, and its files."""
    pipeline = Pipeline.named(name)
    return _page("model.html", views.model_page(pipeline, pipeline.version(version), folder))


@app.get("/pipelines/{name}/{version}/files/{path:path}")
def one_file(name: str, version: str, path: str) -> Response:
    """Hand out a file of a version."""
    pipeline = Pipeline.named(name)
    scratch = ScratchFolder()
    try:
        file = pipeline.fetch(pipeline.version(version), path, scratch.path)
    except BaseException:
        scratch.cleanup()
        raise
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    shown = path == REPORT or kind in _PICTURES
    return FileResponse(
        file,
        media_type=kind,
        filename=None if shown else f"{name}-{file.name}",
        headers=_REPORT_HEADERS if path == REPORT else _FILE_HEADERS,
        background=BackgroundTask(scratch.cleanup),
    )


Form = Annotated[dict[str, str], Depends(changes)]


@app.post("/pipelines/{name}/pin")
def pin_version(name: str, form: Form) -> Response:
    """Hold `latest` at a version."""
    return _changed(name, lambda pipeline, version: pin(pipeline.target, name, version), form)


@app.post("/pipelines/{name}/unpin")
def unpin_version(name: str, form: Form) -> Response:
    """Let `latest` move again."""
    return _changed(name, lambda pipeline, _: unpin(pipeline.target, name), form)


@app.post("/pipelines/{name}/make-latest")
def make_latest(name: str, form: Form) -> Response:
    """Make a version the latest, whatever it is now: promotion of one held back, or a way back to an earlier one."""
    return _changed(name, lambda pipeline, version: rollback(pipeline.target, name, to=version), form)


def _changed(name: str, change: Callable[[Pipeline, str], object], form: dict[str, str]) -> Response:
    """Do a change and show the pipeline again."""
    pipeline = Pipeline.named(name)
    change(pipeline, pipeline.version(form.get("version", "latest")).version)
    return RedirectResponse(f"{PREFIX}/pipelines/{quote(name)}", status_code=303)


def _page(template: str, content: dict[str, Any], status: int = 200) -> Response:
    return HTMLResponse(render(template, root=PREFIX, **content), status, headers=PAGE_HEADERS)


@app.exception_handler(KeplerTrainError)
def _explain(request: Request, error: KeplerTrainError) -> Response:  # noqa: ARG001
    """Show what the store says in one sentence."""
    status = 404 if isinstance(error, NotThere) else 503 if isinstance(error, TryAgain) else 500
    return _page("problem.html", {"title": "Models", "problem": str(error)}, status)


@app.exception_handler(StarletteHTTPException)
def _refuse(request: Request, error: HTTPException) -> Response:  # noqa: ARG001
    """Show why a request is refused."""
    sentence = "Log in to Airflow first." if error.status_code == 401 else str(error.detail)
    return _page("problem.html", {"title": "Models", "problem": sentence}, error.status_code)
