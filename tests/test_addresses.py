"""Addresses: one server or another, with a secret or without, and never a secret in what is shown of them."""

from __future__ import annotations

import contextlib
import re
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3.util import parse_url

from kepler_train.addresses import (
    SERVER_PATTERN,
    STORE_PATTERN,
    BadAddress,
    files_at,
    origin_of,
    secret_in,
    user_in,
    without_secrets,
)

SECRET = "hunter22"
# As people, scripts and attackers write them: every one has the secret in it.
SPELLINGS = [
    f"http://me:{SECRET}@prom:9090",
    f"HTTP://Me:{SECRET}@PROM:9090",
    f"https://{SECRET}@prom",
    f"http://me:{SECRET}/with/slashes@prom",
    f"http://me:{SECRET}?#@prom",
    f"http://me:{SECRET} and more@prom",
    f"http:me:{SECRET}@prom",
    f"http:\\\\me:{SECRET}@prom",
    f"//me:{SECRET}@prom/x",
    f"me:{SECRET}@prom:9090",
    f"http://me%3A{SECRET}%40prom",
    f"http://me%253A{SECRET}%2540prom",
    f"http\uff1a//me\uff1a{SECRET}\uff20prom",
    f"s3://AKIA:{SECRET}@bucket/models",
    f"S3://AKIA:{SECRET}+/x@bucket/models",
    f"s3:AKIA:{SECRET}@bucket",
    f"http://prom:9090/?token={SECRET}",
    f"http://prom:9090/x?a=b&Access_Token={SECRET}",
    f"http://prom:9090/%3Fapikey%3D{SECRET}",
    f"https://s3.example/b?X-Amz-Signature={SECRET}",
    f"s3://bucket/models?AWSAccessKeyId={SECRET}",
    f"s3://bucket/models?api-key={SECRET}",
    f"http://prom#sig={SECRET}",
    f"file:///models?password={SECRET}",
    f"/models?client_secret={SECRET}",
    f"/mnt/s3://AKIA:{SECRET}@bucket",
]


@pytest.mark.parametrize("address", SPELLINGS)
def test_a_secret_in_an_address_is_found_and_never_repeated(address: str) -> None:
    assert secret_in(address)
    for read in (origin_of, files_at):
        with pytest.raises(BadAddress) as refused:
            read(address)
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("address", SPELLINGS)
def test_the_form_of_airflow_refuses_what_a_pattern_can_tell(address: str) -> None:
    assert not re.search(SERVER_PATTERN, address) or "%3F" in address  # which looks like any other path
    could_be_a_folder = address.startswith(("/", "http\uff1a"))  # then the plan step refuses it
    assert not re.search(STORE_PATTERN, address) or could_be_a_folder


@pytest.mark.parametrize(
    "address",
    [
        *("", "/models", "models/lab", "./a:b", "/home/me@lab/x", "/a/2026:11/x", "~/models", "/", "/a//b", "/run#3?"),
        *(
            "s3://bucket",
            "S3://bucket/a/b",
            "s3://old_Bucket.1/x y",
            "file:///models",
            "s3://b/100%",
            "/data/token=1/x",
        ),
    ],
)
def test_addresses_of_files_without_secrets_are_taken(address: str) -> None:
    assert secret_in(address) == ""
    files_at(address)
    assert re.search(STORE_PATTERN, address)


def test_a_bucket_and_its_prefix_are_all_that_an_address_of_s3_says() -> None:
    assert files_at("s3://bucket/a/b/") == ("bucket", "a/b")
    assert files_at("S3://bucket") == ("bucket", "")
    assert files_at("file:///a/b") == "/a/b"
    assert files_at("/a/b") == "/a/b"
    for elsewhere in (
        "s3://bucket:9000/x",
        "s3://bucket/x?endpoint=http://evil",
        "s3://bucket/x#y",
        "s3://arn:aws:s3:eu-central-1:123456789012:accesspoint/x",
        "s3://bu\\cket/x",
        "https://bucket.s3.example/x",
        "s3:///x",
        "s3:bucket",
        "s3://bücket",
        "s3://bucket/a\0b",
        "file:///x?y",
    ):
        with pytest.raises(BadAddress):
            files_at(elsewhere)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://prom", "HTTP://PROM:80/path"),
        ("https://prom.lab", "https://Prom.Lab:443/"),
        ("http://[::1]:9090", "http://[0:0:0:0:0:0:0:1]:9090/x"),
        ("http://[2001:DB8::A]", "http://[2001:db8:0::a]:80"),
        ("http://prom:9090/a", "http://prom:9090/b"),
        ("http://prom:0080", "http://prom"),
    ],
)
def test_one_server_in_two_spellings(one: str, other: str) -> None:
    assert origin_of(one) == origin_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://prom", "http://prom"),
        ("https://prom", "http://prom:443"),
        ("https://prom", "https://prom:8443"),
        ("http://prom:9090", "http://prom:9091"),
        ("https://prom.lab", "https://prom.lab."),
        ("https://prom.lab", "https://prom.lab.evil.example"),
        ("https://prom.lab", "https://evil-prom.lab"),
        ("http://127.0.0.1", "http://[::ffff:127.0.0.1]"),
        ("http://127.0.0.1", "http://2130706433"),
    ],
)
def test_two_servers_that_look_alike(one: str, other: str) -> None:
    assert origin_of(one) != origin_of(other)


@pytest.mark.parametrize(
    "address",
    [
        "http://trusted@evil",
        "http://trusted:80@evil",
        "http://trusted\\@evil",
        "http://trusted#@evil",
        "http://trusted?@evil",
        "http://trusted%40evil",
        "http://trusted%2eevil",
        "http://trusted\t.evil",
        "http://trus\nted",
        " http://trusted",
        "http://trusted\u3002evil",
        "http://tr\u00fcsted",
        "http\u017f://trusted",
        "http:///trusted",
        "http:trusted",
        "//trusted",
        "ftp://trusted",
        "http://",
        "http://trusted:port",
        "http://trusted:0",
        "http://trusted:65536",
        "http://trusted:80:80",
        "http://[::1",
        "http://[1.2.3]",
        "http://[fe80::1%25eth0]",
        "prom:9090",
        "",
    ],
)
def test_an_address_that_others_may_read_otherwise_names_no_server(address: str) -> None:
    with pytest.raises(BadAddress) as refused:
        origin_of(address)
    assert "\n" not in str(refused.value)


_PIECES = st.sampled_from(
    [
        *("http", "https", "HTTP", ":", "/", "//", "@", "\\", "?", "#", "[", "]", "%40", "%2f", ".", "..", "evil"),
        *("trusted", ":80", ":443", "\t", "\n", " ", "\u3002", "\uff20", "\x00", "xn--", "[::1]", ";", "&"),
    ]
)
_ADDRESSES = st.lists(_PIECES, max_size=12).map("".join) | st.text() | st.text().map("http://".__add__)


@given(_ADDRESSES)
def test_the_server_is_the_one_that_the_http_client_connects_to(address: str) -> None:
    with contextlib.suppress(BadAddress):
        origin = origin_of(address)
        client, standard = parse_url(address), urlsplit(address)
        assert (client.scheme, client.auth, client.host) == (origin.scheme, None, origin.host)
        assert standard.hostname == origin.host.strip("[]")
        assert client.port == standard.port
        assert origin.port == client.port or (client.port is None and str(origin) == f"{client.scheme}://{client.host}")
        assert origin_of(str(origin)) == origin


@given(_ADDRESSES)
def test_whatever_is_given_is_read_or_refused(address: str) -> None:
    for read in (origin_of, files_at):
        with contextlib.suppress(BadAddress):  # any other error fails the test
            read(address)
    without_secrets(address)
    user_in(address)


_LETTERS = st.text("abcXYZ019+/=!$%&?#;:@.-_~ü電 ", min_size=1, max_size=12)


@given(_LETTERS, st.sampled_from(["http", "HTTPS", "s3", "ftp", "postgresql+psycopg2"]), st.booleans())
def test_a_password_of_any_letters_is_found(letters: str, scheme: str, encoded: bool) -> None:
    password = quote(f"{SECRET}{letters}", "") if encoded else f"{SECRET}{letters}"
    address = f"{scheme}://user:{password}@host/path"
    assert secret_in(address)
    if " " not in address:
        assert SECRET not in without_secrets(f"It could not connect to {address}: refused.")


def test_what_is_shown_of_a_text_has_no_secret_and_all_the_rest() -> None:
    said = f'No answer of "http://me:{SECRET}@prom:9090/api?query=up&token={SECRET}&time=3" (s3://K:{SECRET}@b).'
    assert without_secrets(said) == 'No answer of "http://***@prom:9090/api?query=up&token=***&time=3" (s3://***@b).'
    for harmless in (
        "Prometheus at http://prom:9090/x?query=up cannot be reached.",
        "s3://bucket/runs/lab/1/extract/10.0.0.7:9102 is not what the step wrote",
        "write to me@example.org",
        "token=abc in a name",
        "registry/app:1.2@sha256:0123",
    ):
        assert without_secrets(harmless) == harmless


def test_an_account_on_a_web_page_is_no_password() -> None:
    assert not user_in("https://fosstodon.org/@kepler")
    assert not user_in("see https://kepler.example, or write to me@kepler.example")
    assert user_in(f"see https://me:{SECRET}@kepler.example")
