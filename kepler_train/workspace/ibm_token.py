"""Bearer tokens of IBM Cloud: made of an API key by its IAM service, sent with every request, renewed in time."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from kepler_train.addresses import BadAddress, origin_of
from kepler_train.errors import TryAgain, UserError

ENDPOINT = "IBM_IAM_ENDPOINT"
_DEFAULT = "https://iam.cloud.ibm.com/identity/token"
_GRANT = "urn:ibm:params:oauth:grant-type:apikey"
_EARLY = 0.2  # of a token's life: renewed so long before its end, though at least …
_LEAST_EARLY = 10.0  # … this long (s), for a request that is on its way
_TIMEOUT = 30.0  # s


class IbmToken:
    """The token of an API key; threads share it."""

    def __init__(self, api_key: str, secret: str) -> None:
        """Take the API key of the secret of that name."""
        self._api_key, self._secret = api_key, secret
        self._lock = threading.Lock()
        self._token, self._renew = "", 0.0
        self._endpoint = os.environ.get(ENDPOINT) or _DEFAULT
        try:
            origin_of(self._endpoint)
        except BadAddress as error:
            raise UserError(f"{ENDPOINT}: {error}.") from None

    def __call__(self) -> str:
        """Return a token that is valid for a while."""
        with self._lock:
            if time.monotonic() >= self._renew:
                self._token, life = self._ask()
                self._renew = time.monotonic() + life - max(_EARLY * life, _LEAST_EARLY)
            return self._token

    def _ask(self) -> tuple[str, float]:
        import requests

        form = {"grant_type": _GRANT, "apikey": self._api_key}
        try:
            answer = requests.post(self._endpoint, data=form, headers={"Accept": "application/json"}, timeout=_TIMEOUT)
        except requests.RequestException as error:
            raise TryAgain(f"{self._endpoint} did not answer: {type(error).__name__}.") from None
        if answer.status_code in (400, 401, 403):
            raise UserError(
                f"{self._endpoint} refused the apiKey of the secret {self._secret} ({answer.status_code}): it is wrong"
                " or was revoked."
            )
        try:
            answer.raise_for_status()
            content: Any = answer.json()
            return str(content["access_token"]), float(content["expires_in"])
        except (requests.RequestException, ValueError, KeyError, TypeError):
            raise TryAgain(f"{self._endpoint} gave no token: it answered {answer.status_code}.") from None


def send_token(client: Any, token: IbmToken) -> None:
    """Let a client of boto3 that does not sign send the token with each request, also when it tries again."""

    def add(request: Any, **_: Any) -> None:
        request.headers["Authorization"] = f"Bearer {token()}"

    client.meta.events.register("request-created.s3", add)
