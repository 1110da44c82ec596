"""What a start makes of the bundle it was given, before and after anything of it is in the store."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest
from support.registryserver import Pusher, registry_server
from support.smallbundle import key_pair, make

from minikube.artifacts import bundlewriter, sshsig, unpinned
from minikube.artifacts.bundleformat import NAMESPACE
from minikube.artifacts.catalogue import DEFAULT
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.artifacts.origin import Origin
from minikube.artifacts.sources import Sourcing
from minikube.cli.bundle import COMMANDS
from minikube.cli.startflags import START_FLAGS
from minikube.cluster import bundles
from minikube.output.progress import silent
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles.settings import Settings


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_STORE", str(tmp_path / "store"))


def settings(bundle: Path, **flags: str) -> Settings:
    given = {name.replace("_", "-"): value for name, value in flags.items()} | {"bundle": str(bundle)}
    return Settings({flag.name: flag for flag in START_FLAGS}, given, use_file=False)


def signed(directory: Path) -> Path:
    private, _ = key_pair(directory)
    return make(directory, sign=lambda data: sshsig.sign(data, private, NAMESPACE))


def test_the_version_is_the_bundles_unless_somebody_chose(tmp_path: Path) -> None:
    bundle = make(tmp_path, version="v1.36.4")
    asked = settings(bundle)
    bundles.StartBundle(asked)
    assert asked.get("kubernetes-version") == "v1.36.4"
    chosen = settings(bundle, kubernetes_version="v1.37.1")
    bundles.StartBundle(chosen)
    assert chosen.get("kubernetes-version") == "v1.37.1"


def test_the_default_version_stays_if_the_bundle_has_it(tmp_path: Path) -> None:
    asked = settings(make(tmp_path, version=DEFAULT.kubernetes))
    bundles.StartBundle(asked)
    assert not asked.get("kubernetes-version")


def test_a_bundle_without_what_this_version_needs(tmp_path: Path) -> None:
    """Made by another minikube: nothing is fetched or built to fill it up."""
    given = bundles.StartBundle(settings(make(tmp_path)))
    assert given is not None
    with pytest.raises(Reason, match="it lacks kubernetes") as caught:
        given.bring_in(DEFAULT.kubernetes, Origin(), silent())
    assert caught.value.id == "HOST_BUNDLE_UNSUPPORTED"
    assert "bundle create" in caught.value.advice


def test_a_bundle_without_a_version_that_has_no_pins(tmp_path: Path) -> None:
    given = bundles.StartBundle(settings(make(tmp_path)))
    assert given is not None
    with pytest.raises(Reason, match=r"for Kubernetes v1\.35\.4 it lacks everything"):
        given.bring_in("v1.35.4", Origin(), silent())


def test_what_a_bundle_knows_of_a_version_without_pins_is_known_from_then_on(tmp_path: Path) -> None:
    """Before anything of it is imported: the version may be named by its minor alone, and nobody can be asked."""
    file = tmp_path / "made-in" / "versions" / "kubernetes-v1.35.4.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"etcd": "v3.6.6", "coredns": "v1.13.1", "pause": "3.10.1"}')
    asked = settings(make(tmp_path, version="v1.35.4"))
    bundles.StartBundle(asked)
    assert asked.get("kubernetes-version") == "v1.35.4"
    assert unpinned.resolve_version("v1.35", Sourcing("bundle"), silent()) == "v1.35.4"


def test_signatures_are_looked_at_before_anything_is_made(tmp_path: Path) -> None:
    bundle = signed(tmp_path)
    _, stranger = key_pair(tmp_path, name="stranger")
    assert bundles.StartBundle(settings(bundle, bundle_verify=str(tmp_path / "key.pub"))) is not None
    for refused, key in ((bundle, stranger), (make(tmp_path, "unsigned.tar"), tmp_path / "key.pub")):
        with pytest.raises(Reason) as caught:
            bundles.StartBundle(settings(refused, bundle_verify=str(key)))
        assert caught.value.id == "HOST_BUNDLE_UNTRUSTED"
    assert not (tmp_path / "store").exists()


def test_the_manifest_cannot_change_after_it_was_signed(tmp_path: Path) -> None:
    bundle = signed(tmp_path)
    data = bundle.read_bytes()
    bundle.write_bytes(data.replace(b'"what":"the program"', b'"what":"THE program"'))
    with pytest.raises(Reason, match="changed after it was signed"):
        bundles.inspect(bundle, tmp_path / "key.pub", silent())


def test_the_signature_can_be_checked_without_this_program(tmp_path: Path) -> None:
    bundle = signed(tmp_path)
    subprocess.run(["tar", "-xf", bundle, "manifest.json", "manifest.json.sig"], cwd=tmp_path, check=True)
    (tmp_path / "allowed_signers").write_text(f"alice {(tmp_path / 'key.pub').read_text()}")
    check = "ssh-keygen -Y verify -f allowed_signers -I alice -n minikube-bundle -s manifest.json.sig < manifest.json"
    subprocess.run(["sh", "-c", check], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.build
def test_an_image_that_only_a_registry_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))  # neither docker nor podman
    made = Image("x/team/app:1", ((Entry("word", content=b"hello"),),))
    write_archive(tmp_path / "app.tar", [made])
    with tarfile.open(tmp_path / "app.tar") as packed:
        packed.extractall(tmp_path / "layout", filter="data")
    with registry_server(tmp_path / "registry") as host:
        Pusher(host).layout(tmp_path / "layout")
        with bundles._archives([f"{host}/team/app:1"], "minikube", Report("bundle create")) as (archive,):
            assert bundlewriter.image_names(archive) == [f"{host}/team/app:1"]
        with (
            pytest.raises(Reason, match="nor in a registry") as caught,
            bundles._archives([f"{host}/team/no:1"], "minikube", Report("bundle create")),
        ):
            pass
        assert caught.value.id == "HOST_PATH_MISSING"


@pytest.mark.parametrize(
    ("flag", "value", "code"), [("container-runtime", "cri-o", 16), ("container-runtime", "rocket", 14), ("addon", "ingress", None)]
)
def test_what_no_cluster_could_use_is_refused_before_anything_is_made(tmp_path: Path, flag: str, value: str, code: int | None) -> None:
    asked = Settings({one.name: one for one in COMMANDS["bundle"].subcommands[0].flags}, {flag: [value]}, use_file=False)
    with pytest.raises(Reason) as refusal:
        bundles.create(asked, Report("bundle create"), output=tmp_path / "b.tar", key=None)
    assert value in refusal.value.message
    assert code is None or refusal.value.exit_code == code
    assert not (tmp_path / "store").exists()
