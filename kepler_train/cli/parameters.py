"""Options that are parameters of a run: their names, types, help and defaults are those of `RunSpec`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_origin

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Command = TypeVar("Command", bound=Callable[..., None])
# A longer list of names would hide the rest of the help.
_LISTED = 15
_OWN = "Options"


@dataclass(frozen=True)
class Taken:
    """The parameters that a command takes, those that must be given, and defaults other than the spec's."""

    names: tuple[str, ...] = ()
    required: Collection[str] = ()
    defaults: dict[str, Any] = field(default_factory=dict)


def takes(*names: str, required: Collection[str] = (), **defaults: Any) -> Callable[[Command], Command]:
    """Declare the parameters of a run that a command takes as options; `defaults` replace those of the spec."""

    def declare(command: Command) -> Command:
        vars(command)["taken"] = Taken((*required, *names, *defaults), required, defaults)
        return command

    return declare


def given(context: typer.Context) -> dict[str, Any]:
    """Return the parameters of a command by their names in the spec; lists as text, separated by commas."""
    parameters: dict[str, Any] = context.meta["parameters"]
    return {name: ",".join(value) if isinstance(value, list | tuple) else value for name, value in parameters.items()}


class SpecCommand(TyperCommand):
    """A command whose options are its own and those of the parameters it takes; its help groups these by section.

    The spec is only imported for the command that is called, so that the others start fast.
    """

    @cached_property
    def _parameters(self) -> list[Any]:
        taken: Taken = getattr(self.callback, "taken", Taken())
        return _options(taken) if taken.names else []

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's own options and those of its parameters."""
        return [*super().get_params(ctx), *self._parameters]

    def invoke(self, ctx: Any) -> Any:
        """Call the command with its own options; `given` has the others."""
        ctx.meta["parameters"] = {option.name: ctx.params.pop(option.name) for option in self._parameters}
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of all options by section, as the trigger form shows them."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            heading = "Arguments" if option.param_type_name == "argument" else option.rich_help_panel or _OWN
            if record := option.get_help_record(ctx):
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _options(taken: Taken) -> list[Any]:
    """Return the options of parameters in the order of the spec, made by typer as from a function's signature."""
    from kepler_train.spec import RunSpec

    def carrier() -> None:
        """Carry a signature."""

    names = [name for name in RunSpec.model_fields if name in taken.names]
    vars(carrier)["__signature__"] = Signature([_option(name, RunSpec.model_fields[name], taken) for name in names])
    app = typer.Typer(add_completion=False)
    app.command()(carrier)
    return list(typer.main.get_command(app).params)


def _option(name: str, info: FieldInfo, taken: Taken) -> Parameter:
    known: Any = info.json_schema_extra
    kind: Any = list[str] if get_origin(info.annotation) is list else info.annotation
    kind = int if kind == int | None else kind
    default = taken.defaults.get(name, info.default)
    if kind == list[str] and isinstance(default, str):
        default = [default] if default else []
    elif kind is float and default is not None:
        default = f"{default:g}"  # 20, not 20.0
    described = typer.Option(
        *(known["options"].split() or [f"--{name.replace('_', '-')}"]),
        help=_help(name, info),
        metavar="<names>" if kind == list[str] else None,
        min=next((bound.ge for bound in info.metadata if hasattr(bound, "ge")), None),
        max=next((bound.le for bound in info.metadata if hasattr(bound, "le")), None),
        rich_help_panel=known["section"],
        show_default=default not in ("", [], None),
    )
    kind = kind if kind in (list[str], bool, int, float) else str
    if name in taken.required:
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, described])
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind | None, described])


def _help(name: str, info: FieldInfo) -> str:
    from kepler_train.spec import choices

    names = choices(name)
    listed = f" Known: {', '.join(names)}." if 0 < len(names) <= _LISTED else ""
    return f"{info.description}{listed}"
