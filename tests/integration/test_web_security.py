"""Who gets in, and what a browser of another site can do: the application as gunicorn serves it, without gunicorn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from nomos.actions.users import SCOPES, add_token
from nomos.bootstrap.web import create_app
from nomos.config import Settings
from nomos.web.assets import tree_hash
from nomos.web.pages import SETUP_FILE

PASSWORD = "a long enough password"
TOKEN = "a-token-for-the-setup-link"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    made = create_app(Settings(home=tmp_path / "nomos"))
    (tmp_path / "nomos" / SETUP_FILE).write_text(TOKEN)
    yield made
    made.extensions["nomos"].store.close()


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def csrf(page: Any) -> str:
    """The token in a page."""
    found = re.search(r'name="csrf[-_]token" (?:content|value)="([^"]+)"', page.get_data(as_text=True))
    assert found, page.get_data(as_text=True)[:2000]
    return found[1]


def set_up(client: FlaskClient) -> str:
    """Make the first account; returns a CSRF token of its session."""
    token = csrf(client.get(f"/setup/{TOKEN}"))
    form = {"name": "ada", "password": PASSWORD, "password_again": PASSWORD, "csrf_token": token}
    answer = client.post(f"/setup/{TOKEN}", data=form)
    assert (answer.status_code, answer.location) == (302, "/"), answer.get_data(as_text=True)
    return csrf(client.get("/"))


def test_every_address_declares_who_may_use_it(app: Flask) -> None:
    rules = app.url_map.iter_rules()
    scopes = {rule.rule: getattr(app.view_functions[rule.endpoint], "nomos_scope", None) for rule in rules}
    assert None not in scopes.values(), scopes
    assert set(scopes.values()) <= {*SCOPES, "public"}
    assert {rule for rule, scope in scopes.items() if scope == "public"} == {
        "/healthz", "/readyz", "/login", "/setup/<token>", "/static/<version>/<path:name>",
    }  # fmt: skip


def test_the_setup_link_makes_one_account_and_then_is_gone(client: FlaskClient, app: Flask) -> None:
    assert client.get("/setup/wrong").status_code == 404
    set_up(client)
    assert "ada" in client.get("/").get_data(as_text=True)
    assert app.test_client().get(f"/setup/{TOKEN}").status_code == 404


@pytest.mark.parametrize(
    ("password", "again", "said"), [("short", "short", "12 characters"), (PASSWORD, "another", "not the same")]
)
def test_an_account_that_cannot_be_made_says_why(client: FlaskClient, password: str, again: str, said: str) -> None:
    token = csrf(client.get(f"/setup/{TOKEN}"))
    form = {"name": "ada", "password": password, "password_again": again, "csrf_token": token}
    answer = client.post(f"/setup/{TOKEN}", data=form)
    assert answer.status_code == 400
    assert said in answer.get_data(as_text=True)


def test_sign_in_and_out(client: FlaskClient, app: Flask) -> None:
    set_up(client)
    other = app.test_client()
    answer = other.get("/sessions/x")
    assert (answer.status_code, answer.location.partition("?")[0]) == (302, "/login")
    token = csrf(other.get("/login"))
    wrong = other.post("/login", data={"name": "ada", "password": "wrong", "csrf_token": token})
    assert wrong.status_code == 401
    assert "Name or password is wrong." in wrong.get_data(as_text=True)
    form = {"name": "ada", "password": PASSWORD, "csrf_token": token, "next": "/hosts"}
    right = other.post("/login", data=form)
    assert (right.status_code, right.location) == (302, "/hosts")
    assert other.get("/api/v1/sessions").status_code == 200
    cookie = next(value for name, value in right.headers if name == "Set-Cookie")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert other.post("/logout", data={"csrf_token": csrf(other.get("/"))}).status_code == 302
    assert other.get("/api/v1/sessions").status_code == 401


@pytest.mark.parametrize("address", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example"])
def test_sign_in_never_leads_elsewhere(client: FlaskClient, app: Flask, address: str) -> None:
    set_up(client)
    other = app.test_client()
    token = csrf(other.get("/login"))
    form = {"name": "ada", "password": PASSWORD, "csrf_token": token, "next": address}
    assert other.post("/login", data=form).location == "/"


@pytest.mark.parametrize("path", ["/login", f"/setup/{TOKEN}"])
def test_a_form_without_its_token_does_nothing(client: FlaskClient, path: str) -> None:
    form = {"name": "ada", "password": PASSWORD, "password_again": PASSWORD}
    assert client.post(path, data=form).status_code == 403


def test_a_write_by_cookie_needs_the_token_and_the_own_origin(client: FlaskClient) -> None:
    token = set_up(client)
    refused = client.post("/api/v1/sessions", json={})
    assert (refused.status_code, (refused.json or {}).get("code")) == (403, "csrf")
    foreign = client.post(
        "/api/v1/sessions", json={}, headers={"X-CSRF-Token": token, "Origin": "https://elsewhere.example"}
    )
    assert foreign.status_code == 403
    own = client.post("/api/v1/sessions", json={}, headers={"X-CSRF-Token": token, "Origin": "http://localhost"})
    assert own.status_code == 201
    listed = client.get("/api/v1/sessions")
    assert len((listed.json or {})["sessions"]) == 1


def test_a_bearer_token_needs_no_csrf_token(client: FlaskClient, app: Flask) -> None:
    parts = app.extensions["nomos"]
    secret = add_token(parts.store, "n8n", frozenset({"chat"}), parts.now())
    answer = client.post("/api/v1/sessions", json={}, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 201


def test_every_answer_carries_the_headers_that_protect_it(client: FlaskClient) -> None:
    for path in ("/login", "/api/v1/sessions", "/nothing", "/healthz"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"], path
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cache-Control"] == "no-store"


def test_static_files_are_kept_for_ever_under_the_hash_of_them_all(client: FlaskClient) -> None:
    page = client.get("/login").get_data(as_text=True)
    assert f"/static/{tree_hash()}/" in page
    answer = client.get(f"/static/{tree_hash()}/css/base.css")
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    answer.close()
    assert client.get("/static/000000000000/css/base.css").status_code == 404
    assert client.get(f"/static/{tree_hash()}/../nomos/config.py").status_code == 404
