"""How calls to the model travel: TLS, proxies, thoughts that go back as they came."""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from nomos.errors import FaultKind, ModelFault
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import ModelRequest, Piece
from nomos.rehearsal.model.protocol import begin, block_moves, text_block
from tests.harness import answers
from tests.harness.model_server import ScriptedModelServer

HELLO: tuple[dict[str, Any], ...] = ({"role": "user", "content": "Hello."},)


def test_a_certificate_that_is_not_trusted_is_for_the_operator(tmp_path: Path) -> None:
    with tls_server(tmp_path) as (port, _, _):
        asked = AnthropicModel("sk-test", f"https://127.0.0.1:{port}", "some-model")
        with pytest.raises(ModelFault) as caught:
            asked.stream(ModelRequest("", HELLO, ()), lambda piece: None, lambda: False, first_try=False)
    assert caught.value.kind is FaultKind.PERMANENT
    assert f"The certificate of 127.0.0.1:{port} is not trusted here" in caught.value.detail


def test_stop_cuts_a_silent_call_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tls_server(tmp_path) as (port, said, hung_up):
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        asked = AnthropicModel("sk-test", f"https://127.0.0.1:{port}", "some-model")
        with pytest.raises(ModelFault) as caught:
            asked.stream(ModelRequest("", HELLO, ()), lambda piece: None, said.is_set)
        assert caught.value.kind is FaultKind.STOPPED
        assert hung_up.wait(10), "the connection has to end, or the answer is written and paid for to its end"


def test_a_proxy_for_the_world_outside_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with ScriptedModelServer([answers.text("Here.")]) as server:
        asked = AnthropicModel("sk-test", server.url, "some-model")
        reply = asked.stream(ModelRequest("", HELLO, ()), lambda piece: None, lambda: False, first_try=False)
    assert reply.content[0]["text"] == "Here."


def test_a_thought_goes_back_as_it_came() -> None:
    with ScriptedModelServer() as server:
        server.add(answers.thinking("Let me see.", "Looking.", ("run", {"host": "practice"})), answers.text("Fine."))
        asked = AnthropicModel("sk-test", server.url, "some-model")
        heard: list[Piece] = []
        first = asked.stream(ModelRequest("You help.", HELLO, ()), heard.append, lambda: False)
        assert [block["type"] for block in first.content] == ["thinking", "text", "tool_use"]
        assert list(dict.fromkeys(piece.kind for piece in heard)) == ["thinking", "text", "tool_call"]
        result = {"type": "tool_result", "tool_use_id": first.content[2]["id"], "content": "up 3 days"}
        later = (
            *HELLO,
            {"role": "assistant", "content": list(first.content)},
            {"role": "user", "content": [result]},
        )
        second = asked.stream(ModelRequest("You help.", later, ()), lambda piece: None, lambda: False)
        assert second.content[0]["text"] == "Fine."
        with pytest.raises(ModelFault, match="bound to a different conversation"):
            asked.stream(ModelRequest("You help. It is noon.", later, ()), lambda piece: None, lambda: False)
        assert len(server.unlawful) == 1


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[int, threading.Event, threading.Event]]:
    """Serve half an answer over TLS, once, then wait for the client to hang up: port, said, hung up."""
    _write_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    said, hung_up = threading.Event(), threading.Event()
    half = b"".join(
        move.encoded()
        for move in (begin({}), *block_moves(0, text_block("Half an ans"), closed=False))
        if hasattr(move, "encoded")
    )

    def serve(listener: socket.socket) -> None:
        plain, _ = listener.accept()
        with plain:
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + half)
                    said.set()
                    while connection.recv(65536):
                        pass
            except OSError:
                pass
        hung_up.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1], said, hung_up
        thread.join(10)


def _write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
