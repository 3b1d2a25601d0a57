"""Which servers may have the credentials of Prometheus: the installation's own, and those that it lists.

| variable | what it names |
|---|---|
| KEPLER_TRAIN_PROMETHEUS_URL | the installation's own server; without both variables it is the default of a run |
| KEPLER_TRAIN_TRUSTED_SERVERS | further servers, as https://host:port, separated by commas |

Who starts a run names any server as its parameter, but does not own the credentials where its steps work.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kepler_train.addresses import BadAddress, Origin, origin_of
from kepler_train.errors import UserError
from kepler_train.spec import RunSpec

OWN, LISTED = "KEPLER_TRAIN_PROMETHEUS_URL", "KEPLER_TRAIN_TRUSTED_SERVERS"


def is_trusted(url: str) -> bool:
    """Return whether the server at an address may have the credentials of the environment."""
    return _origin("prometheus", url) in trusted_servers()


def trusted_servers() -> list[Origin]:
    """Return the installation's own server, and those that it lists."""
    own, listed = os.environ.get(OWN, ""), os.environ.get(LISTED, "")
    if not own and not listed:
        return [origin_of(RunSpec.model_fields["prometheus"].default)]
    servers = [(OWN, own), *((LISTED, entry.strip()) for entry in listed.split(","))]
    return list(dict.fromkeys(_origin(variable, address) for variable, address in servers if address))


def refusal(url: str, credentials: Sequence[str]) -> UserError:
    """Return the error of a run that names a server which may not have the credentials."""
    plural = len(credentials) > 1
    return UserError(
        f"{' and '.join(credentials)} {'are' if plural else 'is'} for {', '.join(map(str, trusted_servers()))}, not for"
        f" {url}, which only the run's parameters name: leave the parameter prometheus as it is, or add"
        f" {origin_of(url)} to {LISTED} where the steps run."
    )


def _origin(variable: str, address: str) -> Origin:
    try:
        origin = origin_of(address)
    except BadAddress as error:
        raise UserError(f"{variable}: {error}.") from None
    if variable == LISTED and address.rstrip("/").count("/") > 2:
        raise UserError(f"{variable}: {address!r} has a path, but a server is trusted as a whole: write {origin}.")
    return origin
