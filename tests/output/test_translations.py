"""Messages in other languages: complete catalogues, the right language, English for programs."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
from support.program import Program
from support.tools import load_tool

from minikube.output import console
from minikube.output.knownproblems import KNOWN
from minikube.output.translations import LANGUAGES, LOCALE, Catalogue

ADVICE = "See what tools/messages.py prints, add the translations to the .po files, and run it again."


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_tool("messages")


@pytest.fixture(scope="module")
def wanted(tool: ModuleType) -> dict[str, str]:
    found: dict[str, str] = tool.messages()
    return found


def test_the_messages_are_found(wanted: dict[str, str]) -> None:
    assert wanted['Stopping node "{0}"  ...'] == "cluster/stop.py"
    assert wanted['To start a cluster, run: "{0}"'] == "output/notready.py"
    assert 'Done! kubectl is now configured to use "{0}" cluster and "{1}" namespace by default ({2} s)' in wanted
    assert "Preparing Kubernetes {0} on {1} ..." in wanted
    assert wanted["Requested cpu count {0} is less than the minimum allowed of {1}"] == "cluster/sizes.py"


@pytest.mark.parametrize(
    ("code", "messages"),
    [
        ('report.info("plain words here")', ["plain words here"]),
        ("report.warning(f'{count} words filled')", ["{0} words filled"]),
        ("words = 'first part'\n    words += f', then {more}'\n    report.info(words)", ["first part", "first part, then {0}"]),
        ("report.info('one thing' if count else 'another thing')", ["another thing", "one thing"]),
        ("report.info(LATER)", ["kept for later"]),
        ("report.info(text or 'something else')", ["handed over words", "something else"]),
        ("warn('told through another')", ["told through another"]),
        ("progress.say('progress says this')", ["progress says this"]),
        ("raise Reason('X', f'not {count} words', advice='do this now')", ["do this now", "not {0} words"]),
    ],
)
def test_nothing_that_is_told_escapes_the_tool(
    tool: ModuleType, wanted: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, messages: list[str]
) -> None:
    caller = "def caller(report):\n    tell(report, 'handed over words', 1)\n"
    (tmp_path / "module.py").write_text(f"LATER = 'kept for later'\n\ndef tell(report, text, count):\n    {code}\n\n{caller}")
    monkeypatch.setattr(tool, "SOURCE", tmp_path)
    monkeypatch.setattr(tool, "REFUSALS", {"module.py"})
    assert sorted(message for message, place in tool.messages().items() if place == "module.py") == messages
    assert not set(messages) & set(wanted)


@pytest.mark.parametrize("code", ["report.info(made.elsewhere)", "report.info(imported)", "report.info(' '.join(parts))"])
def test_what_cannot_be_followed_is_refused(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    (tmp_path / "module.py").write_text(f"def tell(report, made):\n    {code}\n")
    monkeypatch.setattr(tool, "SOURCE", tmp_path)
    with pytest.raises(SystemExit, match="cannot tell what"):
        tool.messages()


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
        (
            "Exiting due to HOST_CONFIG_LOAD: /a/config.json is damaged: cut off",
            "Arrêt à cause de HOST_CONFIG_LOAD : /a/config.json est endommagé : cut off",
        ),
        (
            "Exiting due to RSRC_INSUFFICIENT_CORES: 2 things stand in the way:\n"
            "    - Requested cpu count 1 is less than the minimum allowed of 2\n"
            '    - Profile name "a b" is not valid (MK_USAGE)',
            "Arrêt à cause de RSRC_INSUFFICIENT_CORES : 2 choses font obstacle :\n"
            "    - Le nombre de processeurs demandé, 1, est inférieur au minimum de 2\n"
            '    - Le nom de profil "a b" n\'est pas valide (MK_USAGE)',
        ),
        (
            "Exiting due to RSRC_INSUFFICIENT_STORAGE: 2 things stand in the way:\n"
            "    - Free space: only 12 MB for clusters, in /x\n"
            "    - docker: The driver 'docker' is not part of this minikube (DRV_UNSUPPORTED)",
            "Arrêt à cause de RSRC_INSUFFICIENT_STORAGE : 2 choses font obstacle :\n"
            "    - Place libre: seulement 12 MB pour les clusters, dans /x\n"
            "    - docker: Le pilote 'docker' ne fait pas partie de ce minikube (DRV_UNSUPPORTED)",
        ),
        (
            "3 of Kubernetes v1.37.1 are not in /s yet: the first start makes them in about 4 min; it installs gcc first; "
            "Go comes from PyPI",
            "3 de Kubernetes v1.37.1 ne sont pas encore dans /s : le premier démarrage les fait en 4 min environ; il installe d'abord gcc; "
            "Go vient de PyPI",
        ),
        ("Suggestion: " + KNOWN[0].advice, "Suggestion : " + Catalogue("fr").translate(KNOWN[0].advice)),
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


def test_doctor_answers_in_the_language_of_who_asks(tmp_path: Path) -> None:
    minikube = Program(tmp_path)
    english = json.loads(minikube("doctor", "-o", "json", LC_ALL="de_DE.UTF-8").stdout)
    said = minikube("doctor", LC_ALL="de_DE.UTF-8").stdout
    german = Catalogue("de")
    for check in english["checks"]:
        if check["reason"] not in ("MK_UNIMPLEMENTED", "DRV_UNSUPPORTED", "DRV_UNSUPPORTED_OS"):
            assert german.translate(check["title"]) in said
    assert {check["title"] for check in english["checks"]} >= {"Memory", "Free space"}
    assert "Arbeitsspeicher" in said
    assert "MB frei" in said


def test_programs_are_spoken_to_in_english(tmp_path: Path) -> None:
    minikube = Program(tmp_path)
    event = json.loads(minikube("stop", "-p", "nowhere", "-o", "json", LC_ALL="de_DE.UTF-8").stdout)
    assert event["data"]["message"].startswith('Profile "nowhere" not found.')


def test_a_language_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    minikube = Program(tmp_path)
    done = minikube("status", "-p", "nowhere", LC_ALL="de_DE.ISO-8859-1", PYTHONIOENCODING="ascii")
    assert done.returncode == 85
    assert "Traceback" not in done.stderr
