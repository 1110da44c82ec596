"""Messages in other languages: complete catalogues, the right language, English for programs."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.program import Program

from minikube.output import console
from minikube.output.translations import LANGUAGES, LOCALE, Catalogue

TOOL = Path(__file__).parents[2] / "tools/messages.py"
ADVICE = "See what tools/messages.py prints, add the translations to the .po files, and run it again."


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    specification = importlib.util.spec_from_file_location("messages_tool", TOOL)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["messages_tool"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def wanted(tool: ModuleType) -> dict[str, str]:
    found: dict[str, str] = tool.messages()
    return found


def test_the_messages_are_found(wanted: dict[str, str]) -> None:
    assert wanted['Stopping node "{0}"  ...'] == "cluster/stop.py"
    assert wanted['To start a cluster, run: "{0}"'] == "output/notready.py"
    assert 'Done! kubectl is now configured to use "{0}" cluster and "{1}" namespace by default ({2} s)' in wanted
    assert "Preparing Kubernetes {0} on {1} ..." in wanted


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_is_left_out(language: str, tool: ModuleType, wanted: dict[str, str]) -> None:
    file = LOCALE / language / "LC_MESSAGES/minikube.po"
    translated = tool.read_po(file)
    assert not tool.wrong(translated, wanted), ADVICE
    assert file.read_text(encoding="utf-8") == tool.po_text(language, wanted, translated), ADVICE
    assert (LOCALE / language / "LC_MESSAGES/minikube.mo").read_bytes() == tool.mo_bytes(language, translated), ADVICE


def test_every_language_is_offered() -> None:
    assert console._LANGUAGES == LANGUAGES
    assert sorted(path.name for path in LOCALE.iterdir()) == sorted(LANGUAGES)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Download complete!", "Téléchargement terminé !"),
        ('Deleting "a {1} b" ...', 'Suppression de "a {1} b" ...'),
        ("2 nodes stopped.", "2 nœuds arrêtés."),
        ("1 node stopped.", "1 nœud arrêté."),
        (
            "Exiting due to DRV_NEEDS_ROOT: Run the command as root: sudo -E minikube start",
            "Arrêt à cause de DRV_NEEDS_ROOT : Lancez la commande en tant que root : sudo -E minikube start",
        ),
        ("something nobody translated", "something nobody translated"),
        ("", ""),
    ],
)
def test_french(message: str, expected: str) -> None:
    assert Catalogue("fr").translate(message) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_recognised_when_filled_in(language: str, tool: ModuleType, wanted: dict[str, str]) -> None:
    catalogue = Catalogue(language)
    translated = tool.read_po(LOCALE / language / "LC_MESSAGES/minikube.po")
    for message in wanted:
        filled, expected = message, translated[message]
        for number in range(5):
            filled, expected = filled.replace(f"{{{number}}}", f"<{number}>"), expected.replace(f"{{{number}}}", f"<{number}>")
        assert catalogue.translate(filled) == expected


@pytest.mark.parametrize(
    ("environment", "word"),
    [
        ({"LC_ALL": "fr_FR.UTF-8", "LANG": "de_DE.UTF-8"}, "introuvable"),
        ({"LC_ALL": "", "LC_MESSAGES": "es_ES.UTF-8", "LANG": "de_DE.UTF-8"}, "No se encontró"),
        ({"LC_ALL": "", "LANG": "de"}, "gibt es nicht"),
        ({"LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"}, "not found"),
        ({"LC_ALL": "", "LANG": "den_CA"}, "not found"),
        ({"LC_ALL": "", "LANG": "ja_JP.UTF-8"}, "not found"),
    ],
)
def test_the_environment_chooses(tmp_path: Path, environment: dict[str, str], word: str) -> None:
    minikube = Program(tmp_path)
    done = minikube("status", "-p", "nowhere", **environment)
    assert (done.returncode, word in done.stdout) == (85, True), done.stdout


def test_programs_are_spoken_to_in_english(tmp_path: Path) -> None:
    minikube = Program(tmp_path)
    event = json.loads(minikube("stop", "-p", "nowhere", "-o", "json", LC_ALL="de_DE.UTF-8").stdout)
    assert event["data"]["message"].startswith('Profile "nowhere" not found.')


def test_a_language_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    minikube = Program(tmp_path)
    done = minikube("status", "-p", "nowhere", LC_ALL="de_DE.ISO-8859-1", PYTHONIOENCODING="ascii")
    assert done.returncode == 85
    assert "Traceback" not in done.stderr
