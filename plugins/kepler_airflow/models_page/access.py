"""Who may see the pages, and who may change what they show: Airflow's own permissions, asked at every request.

Whoever may see plugins sees the models; whoever may edit DAGs may also pin and roll back. A browser sends the session's
cookie with requests that other sites make it send, so a change also needs a token that only our own pages hold.
"""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import get_user, requires_access_view
from airflow.configuration import conf
from fastapi import Depends, HTTPException, Request
from itsdangerous import BadData, URLSafeTimedSerializer

User = Annotated[BaseUser, Depends(get_user)]
VIEWERS = Depends(requires_access_view(AccessView.PLUGINS))
TOKEN = "token"  # noqa: S105  # the name of a form's field
_HOURS = 12  # that a page may stay open before a change is made from it
# What browsers say of a request that a page of this very server makes; programs say nothing.
_OWN_PAGE = (None, "same-origin")


def may_edit(user: BaseUser) -> bool:
    """Tell whether a user may change which version is the latest."""
    return bool(get_auth_manager().is_authorized_dag(method="PUT", user=user))


def change_token(user: BaseUser) -> str:
    """Return the token with which a form of this user may change something."""
    return str(_serializer().dumps(user.get_id()))


async def changes(request: Request, user: User) -> dict[str, str]:
    """Return the fields of a form that asks for a change; refuse it unless an editor sent it from one of our pages."""
    if not may_edit(user):
        raise HTTPException(403, "You may look at models, but not change them: that takes the right to edit DAGs.")
    form = {name: str(value) for name, value in (await request.form()).items()}
    try:
        owner = _serializer().loads(form.pop(TOKEN, ""), max_age=_HOURS * 3600)
    except BadData:
        owner = None
    if owner != user.get_id() or request.headers.get("sec-fetch-site") not in _OWN_PAGE:
        raise HTTPException(403, "This change was not asked for by a page of this server: load the page again.")
    return form


def _serializer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(conf.get_mandatory_value("api", "secret_key"), salt="kepler-train models page")
