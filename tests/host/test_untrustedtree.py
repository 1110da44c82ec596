"""A tree that a hostile node writes to: nothing of the host outside it is read, written, opened, changed or removed."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from minikube.host import nofollow, untrustedtree
from minikube.host.nofollow import LeadsElsewhere
from minikube.host.untrustedtree import TooMuch, Tree
from minikube.output.reason import Reason

SOURCE = Path(__file__).parents[2] / "src"
EARLIER = 1_000_000_000 * 10**9
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="device files and mounts need root")


@pytest.fixture(params=["openat2", "step by step"])
def tree(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """With the kernel's own protection, and as on kernels before 5.6."""
    monkeypatch.setattr(nofollow, "_known", [request.param == "openat2"])
    (tmp_path / "state/etc").mkdir(parents=True)
    return Tree(tmp_path / "state")


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A directory of the host with one file, which is the same afterwards."""
    place = tmp_path / "of-the-host"
    place.mkdir()
    (place / "passwd").write_text("root")
    yield place
    assert [(path.name, path.read_text(), stat.S_IMODE(path.stat().st_mode)) for path in place.iterdir()] == [("passwd", "root", 0o644)]


def test_a_file_that_is_as_it_should_be_keeps_its_time(tree: Tree) -> None:
    file = Path(tree.root, "etc/minikube/program.py")
    tree.write("/etc/minikube/program.py", b"print()")
    os.utime(file, ns=(EARLIER, EARLIER))
    tree.write("/etc/minikube/program.py", b"print()")
    assert file.stat().st_mtime_ns == EARLIER


@pytest.mark.parametrize(("content", "mode"), [(b"print(1)", 0o644), (b"print)(", 0o644), (b"print()", 0o600)])
def test_a_file_of_another_content_or_mode_is_written_and_stays_the_same_file(tree: Tree, content: bytes, mode: int) -> None:
    file = Path(tree.root, "etc/program.py")
    tree.write("/etc/program.py", b"print()")
    os.utime(file, ns=(EARLIER, EARLIER))
    before = file.stat().st_ino
    tree.write("/etc/program.py", content, mode)
    assert (file.read_bytes(), file.stat().st_mode & 0o7777, file.stat().st_ino) == (content, mode, before)
    assert file.stat().st_mtime_ns > EARLIER


def test_no_special_bit_is_given_to_a_file_or_taken_from_one(tree: Tree) -> None:
    tree.write("/etc/tool", b"x", 0o6755)
    assert Path(tree.root, "etc/tool").stat().st_mode & 0o7777 == 0o755
    Path(tree.root, "etc/tool").chmod(0o7755)
    assert tree.read("/etc/tool") == {"/etc/tool": (b"x", 0o755)}


ACTS: dict[str, Callable[[Tree, str], object]] = {
    "write": lambda tree, path: tree.write(path, b"x", 0o600),
    "read": lambda tree, path: tree.read(path),
    "make": lambda tree, path: tree.make_directory(path, 0o777),
    "copy": lambda tree, path: tree.copy_in(str(Path(__file__).parent), path),
    "names": lambda tree, path: tree.names(path),
    "walk": lambda tree, path: [os.fchmod(each, 0o777) for each in tree.directories(path)],
    "remove": lambda tree, path: tree.remove(path),
    "rename": lambda tree, path: tree.rename(path, "other"),
    "kind": lambda tree, path: tree.kind(path),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("path", ["/etc/link/passwd", "/etc/link/deep/er", "/etc/link"])
def test_a_link_is_not_followed_by_anything(tree: Tree, outside: Path, act: str, path: str) -> None:
    Path(tree.root, "etc/link").symlink_to(outside)
    if path == "/etc/link" and act in ("remove", "rename", "kind"):
        ACTS[act](tree, path)  # the link itself
    else:
        with pytest.raises(LeadsElsewhere):
            ACTS[act](tree, path)


@pytest.mark.parametrize("act", ["write", "read"])
def test_a_link_to_a_file_is_not_followed_dangling_or_not(tree: Tree, outside: Path, act: str) -> None:
    for target in ("passwd", "nothing"):
        Path(tree.root, "etc/file").unlink(missing_ok=True)
        Path(tree.root, "etc/file").symlink_to(outside / target)
        with pytest.raises(LeadsElsewhere):
            ACTS[act](tree, "/etc/file")


@pytest.mark.parametrize("path", ["/etc/../../of-the-host/passwd", "..", "/", "", "etc/a\0b"])
def test_paths_that_are_none_are_refused(tree: Tree, outside: Path, path: str) -> None:
    for act in ACTS.values():
        with pytest.raises(ValueError, match="not a path"):
            act(tree, path)


def make_special(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


@pytest.mark.parametrize("kind", ["pipe", "socket", pytest.param("device", marks=needs_root)])
def test_pipes_sockets_and_devices_are_never_opened(tree: Tree, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A read would wait for ever, and a write would go to a disk of the host."""
    make_special(Path(tree.root, "etc/it"), kind)
    opened: list[int] = []
    real = os.open

    def watch(*args: object, **more: object) -> int:
        descriptor = real(*args, **more)  # type: ignore[arg-type]
        about = os.fstat(descriptor)
        if not args[1] & os.O_PATH and not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):  # type: ignore[operator]
            opened.append(descriptor)
        return descriptor

    monkeypatch.setattr(os, "open", watch)
    assert (tree.kind("/etc/it"), tree.read("/etc/it"), tree.read("/etc")) == ("special", {}, {})
    tree.write("/etc/it", b"now a file")
    assert tree.read("/etc/it") == {"/etc/it": (b"now a file", 0o644)}
    assert opened == []


def test_a_file_with_a_lease_of_the_node_holds_nobody_up(tree: Tree) -> None:
    tree.write("/etc/held", b"before")
    holder = os.open(Path(tree.root, "etc/held"), os.O_RDWR)
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        fcntl.fcntl(holder, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        with pytest.raises(TooMuch):
            tree.read("/etc/held")
        tree.write("/etc/held", b"after")
        assert tree.read("/etc/held") == {"/etc/held": (b"after", 0o644)}
    finally:
        os.close(holder)
        signal.signal(signal.SIGIO, before)


def test_what_is_read_is_bounded(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(tree.root, "etc/sparse").touch()
    os.truncate(Path(tree.root, "etc/sparse"), 1 << 40)
    with pytest.raises(TooMuch):
        tree.read("/etc/sparse", limit=1 << 20)
    with pytest.raises(TooMuch):
        tree.read("/etc", limit=1 << 20)
    tree.remove("/etc/sparse")
    monkeypatch.setattr(untrustedtree, "MOST_FILES", 10)
    for number in range(12):
        tree.write(f"/etc/many/{number}", b"")
    with pytest.raises(TooMuch):
        tree.read("/etc/many")


def deep(top: Path, levels: int) -> None:
    """Directories below each other, more than any path can name."""
    subprocess.run(
        [sys.executable, "-c", f"import os\nfor _ in range({levels}): os.mkdir('d'); os.chdir('d')\nopen('end', 'w')"], cwd=top, check=True
    )


def test_a_tree_deeper_than_any_path_is_removed_and_not_read(tree: Tree) -> None:
    deep(Path(tree.root, "etc"), 5000)
    with pytest.raises(TooMuch):
        tree.read("/etc")
    assert sum(1 for _ in tree.directories("/etc")) == untrustedtree.DEEPEST + 1
    tree.remove("/etc")
    assert tree.kind("/etc") == ""


def test_links_in_a_tree_are_removed_and_what_they_lead_to_is_not(tree: Tree, outside: Path) -> None:
    Path(tree.root, "etc/directory").symlink_to(outside)
    Path(tree.root, "etc/file").symlink_to(outside / "passwd")
    os.mkfifo(Path(tree.root, "etc/pipe"))
    tree.remove("/etc")
    assert not Path(tree.root, "etc").exists()


def in_a_mount_namespace(commands: str, script: str) -> subprocess.CompletedProcess[str]:
    """Shell commands in one of their own, of which $1 is the script."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", commands, "sh", script], capture_output=True, text=True, env=environment, check=False
    )


@needs_root
@pytest.mark.parametrize("mount", ["-t tmpfs none", "--bind {outside}"])
@pytest.mark.parametrize("place", ["state", "state/etc/on"])
def test_what_is_mounted_in_a_tree_is_not_removed(tree: Tree, tmp_path: Path, mount: str, place: str) -> None:
    """Neither a file system of its own nor a directory of the same one."""
    script = (
        "from minikube.host import nofollow; from minikube.host.untrustedtree import Tree\n"
        f"nofollow._known[:] = {nofollow._known}\n"
        f"Tree({str(tmp_path)!r}).remove('state')\n"
    )
    on, outside = tmp_path / place, tmp_path / "outside"
    on.mkdir(exist_ok=True)
    outside.mkdir()
    commands = (
        f"mount {mount.format(outside=outside)} {on} && echo kept > {on}/file && "
        f'{sys.executable} -c "$1"; code=$?; cat {on}/file; exit $code'
    )
    done = in_a_mount_namespace(commands, script)
    assert (done.returncode, done.stdout) == (1, "kept\n")
    assert "something is mounted there" in done.stderr


@needs_root
def test_a_socket_of_a_tree_that_is_a_mount_is_refused_with_a_reason(tmp_path: Path) -> None:
    script = (
        "import socket; from minikube.host.untrustedtree import Reason, Tree\n"
        f"root = {str(tmp_path)!r}\n"
        "socket.socket(socket.AF_UNIX).bind(f'{root}/state/sockets/control.sock')\n"
        "try: Tree(f'{root}/state').link_socket('sockets/control.sock', root, 'out')\n"
        "except Reason as reason: print(reason.message, reason.advice)\n"
    )
    (tmp_path / "state/sockets").mkdir(parents=True)
    done = in_a_mount_namespace(f'mount --bind {tmp_path}/state {tmp_path}/state && {sys.executable} -c "$1"', script)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{tmp_path}/state or a directory in it is a mount" in done.stdout
    assert f"mount the disk at {tmp_path} instead" in done.stdout


def test_copying_in_goes_round_what_the_node_put_in_the_way(tree: Tree, tmp_path: Path, outside: Path) -> None:
    skeleton = tmp_path / "skeleton"
    (skeleton / "deep").mkdir(parents=True)
    (skeleton / "deep/link").symlink_to("../file")
    (skeleton / "deep/passwd").write_text("skeleton's")
    (skeleton / "deep").chmod(0o1777)
    (skeleton / "file").write_text("whole")
    (skeleton / "tool").write_text("tool")
    (skeleton / "tool").chmod(0o4755)
    target = Path(tree.root, "etc")
    (target / "file").write_text("ha")  # half of it, by a start that was killed
    (target / "theirs").write_text("a user's")
    for _ in range(2):
        tree.copy_in(str(skeleton), "etc")
    assert ((target / "deep/link").read_text(), (target / "theirs").read_text()) == ("whole", "a user's")
    assert [stat.S_IMODE((target / name).stat().st_mode) for name in ("deep", "tool")] == [0o1777, 0o755]
    tree.remove("etc/deep")
    (target / "deep").symlink_to(outside)
    (target / "file").unlink()
    (target / "file").symlink_to(outside / "new")
    tree.copy_in(str(skeleton), "etc")


def test_a_name_that_is_swapped_all_the_time_never_leads_outside(tree: Tree, outside: Path) -> None:
    """The node's root works against every call at once: a directory, then a link to the host's, then a file with that name."""
    over = threading.Event()
    place = Path(tree.root, "etc/minikube")

    def swap() -> None:
        (Path(tree.root) / "etc/link").symlink_to(outside)
        (Path(tree.root) / "etc/real").mkdir()
        while not over.is_set():
            for name in ("link", "real"):
                try:
                    Path(tree.root, "etc", name).rename(place)
                    place.rename(Path(tree.root, "etc", name))
                except OSError:
                    continue

    swapping = threading.Thread(target=swap)
    swapping.start()
    chance = random.Random(17)
    try:
        for _ in range(3000):
            act = chance.choice(["write", "read", "make", "walk", "names", "kind", "remove"])
            try:
                ACTS[act](tree, "/etc/minikube/passwd" if chance.random() < 0.8 else "/etc/minikube")
            except (LeadsElsewhere, OSError, Reason):
                continue
    finally:
        over.set()
        swapping.join()


def test_only_root_of_the_host_may_enter(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    Tree(tmp_path / "state").close_to_users()
    about = (tmp_path / "state").stat()
    assert (stat.S_IMODE(about.st_mode), about.st_uid) == (0o700, os.geteuid())
    Tree(tmp_path / "nothing").close_to_users()
    (tmp_path / "link").symlink_to("/usr")
    with pytest.raises(OSError, match=r"Not a directory|Too many"):
        Tree(tmp_path / "link").close_to_users()


def test_a_socket_gets_a_name_outside_and_nothing_else_does(tree: Tree, tmp_path: Path) -> None:
    Path(tree.root, "sockets").mkdir()
    for name, make in {"file": Path.touch, "pipe": os.mkfifo}.items():
        make(Path(tree.root, "sockets", name))
        with pytest.raises(FileNotFoundError):
            tree.link_socket(f"sockets/{name}", str(tmp_path), "out")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind(f"{tree.root}/sockets/control.sock")
        listener.listen()
        tree.link_socket("sockets/control.sock", str(tmp_path), "out")
        tree.remove("sockets/control.sock")
        client.connect(str(tmp_path / "out"))
