"""The question is one that DNS servers take, and only a real answer counts."""

import socket
import struct
import subprocess
import sys
import threading

import pytest

from minikube.node import askdns


def test_the_question_is_well_formed():
    question = askdns.query("kubernetes.default")
    assert question[12:] == b"\x0akubernetes\x07default\x00" + struct.pack(">HH", 1, 1)
    assert struct.unpack(">H", question[4:6]) == (1,)


@pytest.mark.parametrize(("message", "counts"), [(b"", False), (b"\0" * 12, False), (b"\0" * 6 + b"\0\1" + b"\0" * 4, True)])
def test_only_an_answer_counts(message, counts):
    assert askdns.answers(message) is counts


def test_it_asks_until_there_is_an_answer(monkeypatch, capsys):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        real = socket.socket.sendto
        monkeypatch.setattr(askdns.socket.socket, "sendto", lambda asker, data, _: real(asker, data, server.getsockname()))

        def serve():
            for answers in (0, 0, 1):  # a name that is not known yet, twice
                question, asker = server.recvfrom(512)
                real(server, question[:6] + struct.pack(">H", answers) + question[8:], asker)

        thread = threading.Thread(target=serve)
        thread.start()
        assert askdns.main("127.0.0.1", "a.b", 20) == 0
        thread.join()
    assert float(capsys.readouterr().out) > 0


def test_it_gives_up_and_says_so():
    done = subprocess.run([sys.executable, "-I", "-S", askdns.__file__, "127.0.0.1", "a.b", "0.05"], check=False)
    assert done.returncode == 1
