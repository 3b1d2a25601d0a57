"""The list of all pipelines at a place: `README.md` with a row for each, and a page on each in `.doc/`.

A page carries its own row, and `README.md` has the rows of all pages. Who has written a file reads it again, and all
that it is made of, until it is as it should be. So the last of several publishers leaves a complete list, and none of
them waits for another or leaves a lock. Only pages that begin as ours do are written, and of `README.md` only what is
between our marks.
"""

from __future__ import annotations

from collections.abc import Callable

from kepler_train.events import say
from kepler_train.export.overview import COLUMNS, read_overview
from kepler_train.publish.readers import let_readers_in
from kepler_train.publish.target import Target, open_target
from kepler_train.workspace import FileStore, open_store
from kepler_train.workspace.folder import FolderStore

README, PAGES = "README.md", ".doc"
BEGIN, END = "<!-- kepler-train: pipelines -->", "<!-- kepler-train: end of pipelines -->"
_PAGE = "<!-- kepler-train writes this page when it writes the pipeline. Its row in README.md: "
_PAGE_END = " -->"
_TITLE = "# Power models\n\nA row for every pipeline. Errors are those of the worst component.\n\n"
_AS_THEY_ARE = "surrogateescape"  # bytes that are no text
# Other publishers may write in between; so many at once there are not.
_TRIES = 20


def list_pipeline(uri: str, pipeline: str) -> None:
    """Write the page of a pipeline and its row, for its latest version where it has versions."""
    store, target = open_store(uri), open_target(uri)
    page = f"{PAGES}/{pipeline}.md"
    _keep(store, page, lambda before: _page(store, target, pipeline, page, before))
    _keep(store, README, lambda before: _readme(store, before))
    if isinstance(store, FolderStore):
        written = (store.root / name for name in (PAGES, page, README))
        let_readers_in(store.root, (path for path in written if path.exists()))


def _keep(store: FileStore, key: str, content: Callable[[str | None], str | None]) -> None:
    """Write a file until it holds what it should; None leaves it as it is."""
    for _ in range(_TRIES):
        before = _text(store.read(key))
        after = content(before)
        if after is None or after == before:
            return
        store.write(key, after.encode("utf-8", _AS_THEY_ARE))


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", _AS_THEY_ARE)


def _page(store: FileStore, target: Target, pipeline: str, page: str, before: str | None) -> str | None:
    """Return the page of a pipeline; its first line is a comment with its row."""
    if before is not None and not before.startswith(_PAGE):
        say(f"{target.uri}/{page} was not written by kepler-train and is left as it is; nor is {pipeline} listed.")
        return None
    version = target.latest(pipeline)
    about = read_overview(store.read, pipeline, f"{pipeline}/{version}" if version else pipeline)
    return f"{_PAGE}{about.row(page)}{_PAGE_END}\n{about.page('..')}" if about else None


def _readme(store: FileStore, before: str | None) -> str | None:
    """Return the list with the rows of all pages, inside the text around it."""
    head, begin, rest = (f"{_TITLE}{BEGIN}{END}\n" if before is None else before).partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        say(
            f"{store.uri}/{README} was not written by kepler-train and is left as it is. For a list of pipelines in it"
            f" add two lines: {BEGIN} and {END}"
        )
        return None
    pages = sorted(key for key in store.sizes(PAGES) if key.endswith(".md"))
    rows = [row for key in pages if (row := _row(_text(store.read(key)) or ""))]
    if before is None and not rows:
        return None
    lines = [BEGIN, f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", *rows, END]
    return head + "\n".join(lines) + tail


def _row(page: str) -> str:
    """Return the row that a page carries; empty where the page is not ours, or its row would end the list."""
    first = page.partition("\n")[0]
    row = first.removeprefix(_PAGE).removesuffix(_PAGE_END)
    return row if first.startswith(_PAGE) and first.endswith(_PAGE_END) and "<!--" not in row else ""
