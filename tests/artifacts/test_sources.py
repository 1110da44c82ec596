"""Which source is taken, and what the release source makes of what servers offer."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.fileserver import FileServer, file_server, status
from support.registryserver import INDEX, MANIFEST, Pusher, registry_server
from support.signing import Signing

from minikube.artifacts import endpoints, sources
from minikube.artifacts.assembly import missing_components, node_image_recipe
from minikube.artifacts.catalogue import CRI_DOCKERD, CRI_O, DEFAULT
from minikube.artifacts.endpoints import KUBERNETES_SIGNER
from minikube.artifacts.gocomponents import goarch
from minikube.artifacts.oci import Entry, Image, write_archive
from minikube.artifacts.origin import Origin, chosen_repository
from minikube.artifacts.pins import Pins
from minikube.artifacts.release import Releases
from minikube.artifacts.sigstore import Roots
from minikube.artifacts.sources import Sourcing
from minikube.artifacts.store import Recipe, Store
from minikube.artifacts.web import Patience, Web
from minikube.output.progress import Progress, silent
from minikube.output.reason import Reason

KUBELET = f"/{DEFAULT.kubernetes}/bin/linux/{goarch()}/kubelet"


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[FileServer]:
    """Has a kubelet with a SHA-256, and crictl with both checksums."""
    place = tmp_path / "mirror" / KUBELET.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"#!kubelet")
    place.with_name("kubelet.sha256").write_text(hashlib.sha256(b"#!kubelet").hexdigest())
    crictl = tmp_path / "mirror" / endpoints.crictl(DEFAULT.crictl, goarch()).place
    crictl.parent.mkdir(parents=True)
    with tarfile.open(crictl, "w:gz") as packed:
        for name in ("crictl", "../../escaped"):
            member = tarfile.TarInfo(name)
            member.size = 6
            packed.addfile(member, io.BytesIO(b"crictl"))
    for suffix in ("sha256", "sha512"):
        digest = hashlib.new(suffix, crictl.read_bytes()).hexdigest()
        crictl.with_name(f"{crictl.name}.{suffix}").write_text(f"{digest}  {crictl.name}\n")
    with file_server(tmp_path / "mirror") as files:
        yield files


def pack(archive: Path, directory: str, *names: str) -> None:
    """An archive of files that hold their own names."""
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as packed:
        for name in names:
            member = tarfile.TarInfo(f"{directory}/{name}")
            member.size = len(name)
            packed.addfile(member, io.BytesIO(name.encode()))


def sign(mirror: FileServer, signing: Signing, content: bytes, account: str = KUBERNETES_SIGNER.account) -> None:
    for suffix, text in zip((".sig", ".cert"), signing.sign(content, account=account), strict=True):
        (mirror.directory / f"{KUBELET}{suffix}".lstrip("/")).write_bytes(text)


def releases(tmp_path: Path, mirror: str, roots: Roots | None = None) -> Releases:
    web = Web(environment={}, certificates=tmp_path, patience=Patience(connect=2, idle=5, attempts=2, pause=0.01))
    return Releases(DEFAULT, Store(tmp_path / "store"), Origin(binary_mirror=mirror), node_image_recipe(), web=web, roots=roots)


def need(recipe: Recipe, name: str) -> Recipe:
    return next(one for one in recipe.needs if one.name.startswith(f"release-{name}-"))


def kubelet(made: Releases) -> Path:
    return made.store.provide(need(made.recipes.node_binaries, "kubelet"), silent()) / "kubelet"


class TestBinaries:
    def test_a_mirror_with_sha256_only(self, tmp_path: Path, mirror: FileServer) -> None:
        program = kubelet(releases(tmp_path, mirror.url))
        assert program.read_bytes() == b"#!kubelet"
        assert program.stat().st_mode & 0o777 == 0o755
        asked = [f"{KUBELET}.sha512", f"{KUBELET}.sha256", KUBELET, f"{KUBELET}.sig", f"{KUBELET}.cert"]
        assert [path for path, _ in mirror.requests] == asked

    def test_a_signature_of_the_project_is_checked_and_told(self, tmp_path: Path, mirror: FileServer) -> None:
        signing = Signing()
        sign(mirror, signing, b"#!kubelet")
        made, shown = releases(tmp_path, mirror.url, signing.roots), io.StringIO()
        made.store.provide(need(made.recipes.node_binaries, "kubelet"), Progress(shown))
        assert (
            f"kubelet {DEFAULT.kubernetes} is signed by krel-staging@k8s-releng-prod.iam.gserviceaccount.com: sha256:" in shown.getvalue()
        )

    @pytest.mark.parametrize("how", ["another file", "another account", "another authority"])
    def test_a_signature_that_is_not_right_refuses_the_file(self, tmp_path: Path, mirror: FileServer, how: str) -> None:
        """The server's own checksums are right: whoever owns the server can make those."""
        signing = Signing()
        account = "mallory@example.test" if how == "another account" else KUBERNETES_SIGNER.account
        sign(mirror, Signing() if how == "another authority" else signing, b"#!other" if how == "another file" else b"#!kubelet", account)
        with pytest.raises(Reason, match="is not what krel-staging") as caught:
            kubelet(releases(tmp_path, mirror.url, signing.roots))
        assert caught.value.id == "INET_BAD_SIGNATURE"
        assert not list((tmp_path / "store").glob("entries/*"))
        assert Pins(tmp_path / "store").all() == {}, "what is refused is not trusted later"

    def test_what_is_trusted_on_first_use_is_told_once(self, tmp_path: Path, mirror: FileServer) -> None:
        made, shown, events = releases(tmp_path, mirror.url), io.StringIO(), list[str]()
        recipe = need(made.recipes.node_binaries, "kubelet")
        made.store.provide(recipe, Progress(shown, on_say=events.append))
        (made.store.path(recipe) / "kubelet").unlink()
        made.store.provide(recipe, Progress(shown, on_say=events.append))
        digest = f"sha256:{hashlib.sha256(b'#!kubelet').hexdigest()}"
        sentence = (
            f"kubelet {DEFAULT.kubernetes} has no signature there: it is trusted on first use as {digest[:23]}… (minikube cache pins)"
        )
        assert events.count(sentence) == 1
        assert shown.getvalue().count(sentence) == 1
        assert Pins(tmp_path / "store").all() == {f"{KUBELET[1:]} sha256": digest}

    def test_only_what_is_wanted_comes_out_of_an_archive(self, tmp_path: Path, mirror: FileServer) -> None:
        made = releases(tmp_path, mirror.url)
        content = made.store.provide(need(made.recipes.node_binaries, "crictl"), silent())
        assert [path.name for path in content.iterdir()] == ["crictl"]
        assert not list(tmp_path.rglob("escaped"))
        assert any(path.endswith(".sha512") for path, _ in mirror.requests)

    def test_a_binary_that_is_not_what_was_published(self, tmp_path: Path, mirror: FileServer) -> None:
        (mirror.directory / KUBELET.lstrip("/")).write_bytes(b"#!trojan")
        with pytest.raises(Reason) as caught:
            kubelet(releases(tmp_path, mirror.url))
        assert caught.value.id == "INET_BAD_CHECKSUM"
        assert not list((tmp_path / "store").glob("entries/*"))

    def test_a_checksum_that_is_not_the_one_of_the_first_time(self, tmp_path: Path, mirror: FileServer) -> None:
        program = kubelet(releases(tmp_path, mirror.url))
        program.unlink()  # the entry is damaged: it is to be had again
        file = mirror.directory / KUBELET.lstrip("/")
        file.write_bytes(b"#!trojan")
        file.with_name("kubelet.sha256").write_text(hashlib.sha256(b"#!trojan").hexdigest())
        with pytest.raises(Reason, match="when it was used first") as caught:
            kubelet(releases(tmp_path, mirror.url))
        assert caught.value.id == "INET_PIN_CHANGED"
        assert str(tmp_path / "store" / "pins.json") in caught.value.advice

    def test_no_checksum_no_binary(self, tmp_path: Path, mirror: FileServer) -> None:
        (mirror.directory / f"{KUBELET}.sha256".lstrip("/")).unlink()
        with pytest.raises(Reason, match="no checksum of kubelet"):
            kubelet(releases(tmp_path, mirror.url))

    def test_a_login_page_instead_of_a_checksum(self, tmp_path: Path, mirror: FileServer) -> None:
        (mirror.directory / f"{KUBELET}.sha256".lstrip("/")).write_text("<html>Welcome to our hotel</html>")
        with pytest.raises(Reason, match="has no checksum of kubelet in it"):
            kubelet(releases(tmp_path, mirror.url))

    def test_cri_o_is_taken_out_of_its_bundle_by_path(self, tmp_path: Path) -> None:
        """The bundle has other files called `crio`: the shells' completions, and settings."""
        wanted = ("bin/crio", "bin/pinns", "bin/conmon", "bin/conmonrs", "bin/crun")
        released = endpoints.cri_o(CRI_O, goarch())
        place = tmp_path / "mirror" / released.place
        pack(place, "cri-o", *wanted, "bin/runc", "completions/bash/crio", "etc/crio", "install")
        place.with_name(f"{place.name}.sha256sum").write_text(f"{hashlib.sha256(place.read_bytes()).hexdigest()}  {place.name}\n")
        with file_server(tmp_path / "mirror") as files:
            made = releases(tmp_path, files.url)
            content = made.store.provide(made.cri_o, silent())
        assert {path.name: path.read_text() for path in content.iterdir()} == {name[4:]: name for name in wanted}

    def test_a_project_without_checksums_has_those_that_github_keeps(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        released = endpoints.cri_dockerd(CRI_DOCKERD, goarch())
        place = tmp_path / "mirror" / released.place
        pack(place, "cri-dockerd", "cri-dockerd", "LICENSE")
        description = tmp_path / "mirror" / released.description
        description.parent.mkdir(parents=True)
        digest = f"sha256:{hashlib.sha256(place.read_bytes()).hexdigest()}"
        with file_server(tmp_path / "mirror") as files:
            monkeypatch.setattr(endpoints, "PROJECT_DESCRIPTIONS", files.url)
            for assets in ([], [{"name": place.name, "digest": None}], [{"name": "other", "digest": digest}]):
                description.write_text(json.dumps({"tag_name": CRI_DOCKERD, "assets": assets}))
                made = releases(tmp_path, files.url)
                with pytest.raises(Reason, match="has no checksum of cri-dockerd") as caught:
                    made.store.provide(made.cri_dockerd, silent())
                assert caught.value.id == "INET_BAD_CHECKSUM"
            description.write_text(json.dumps({"assets": [{"name": "other", "digest": "x"}, {"name": place.name, "digest": digest}]}))
            made = releases(tmp_path, files.url)
            content = made.store.provide(made.cri_dockerd, silent())
        assert [path.name for path in content.iterdir()] == ["cri-dockerd"]
        assert Pins(tmp_path / "store").known(f"{released.place} sha256") == digest

    def test_sources_and_registries_do_not_share_entries(self, tmp_path: Path) -> None:
        store = Store(tmp_path)
        image = node_image_recipe()
        modules = {recipe.entry_name for recipe in missing_components(DEFAULT, tmp_path)}
        public = {one.entry_name for one in Releases(DEFAULT, store, Origin(), image).recipes}
        other = Releases(DEFAULT, store, Origin(image_repository="registry.example/mirror"), image).recipes
        assert not modules & public
        assert other.prepared_store.entry_name not in public
        assert other.kubectl.entry_name in public


@pytest.mark.build
def test_on_another_architecture_everything_is_of_that_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs by their place, images out of an index that has both, and nothing is taken for the other's in a shared store."""
    machines = {"arm64": "aarch64", "amd64": "x86_64"}
    for architecture in machines:
        place = tmp_path / "mirror" / DEFAULT.kubernetes / "bin/linux" / architecture
        place.mkdir(parents=True)
        (place / "kubelet").write_text(architecture)
        (place / "kubelet.sha256").write_text(hashlib.sha256(architecture.encode()).hexdigest())
    names = {}
    with file_server(tmp_path / "mirror") as files, registry_server(tmp_path / "registry") as host:
        push_for_both(host, tmp_path, f"pause:{DEFAULT.pause}")
        for architecture, machine in machines.items():
            monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
            origin = Origin(binary_mirror=files.url, image_repository=host)
            made = Releases(DEFAULT, Store(tmp_path / "store"), origin, node_image_recipe(), web=Web(environment={}))
            assert kubelet(made).read_text() == architecture
            layout = made.store.provide(next(one for one in made.recipes.prepared_store.needs if "image-pause" in one.name), silent())
            (manifest,) = json.loads((layout / "index.json").read_bytes())["manifests"]
            assert manifest["platform"]["architecture"] == architecture
            assert architecture in config_of(layout, manifest["digest"])
            programs = {recipe.name: recipe.entry_name for recipe in (*made.recipes.node_binaries.needs, *made.recipes, made.node_image)}
            names[architecture] = set(programs.values())
    assert not names["arm64"] & names["amd64"]


def push_for_both(host: str, directory: Path, name: str) -> None:
    """An image with an index of two architectures."""
    entries = []
    for architecture in ("amd64", "arm64"):
        image = Image(f"x/{name}-{architecture}", ((Entry("which", 0o644, content=architecture.encode()),),))
        write_archive(directory / "image.tar", [image], architecture=architecture)
        with tarfile.open(directory / "image.tar") as packed:
            packed.extractall(directory / architecture, filter="data")
        (digest,) = Pusher(host).layout(directory / architecture).values()
        entries.append({"mediaType": MANIFEST, "digest": digest, "size": 1, "platform": {"os": "linux", "architecture": architecture}})
    repository, _, tag = name.partition(":")
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
    Pusher(host).manifest(repository, tag, json.dumps(index).encode(), INDEX)


def config_of(layout: Path, digest: str) -> str:
    blobs = layout / "blobs" / "sha256"
    manifest = json.loads((blobs / digest.partition(":")[2]).read_bytes())
    return (blobs / manifest["config"]["digest"].partition(":")[2]).read_text()


class TestChoice:
    def test_what_is_in_the_store_is_taken_without_asking_anybody(
        self, tmp_path: Path, mirror: FileServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sources, "missing", lambda _versions, _origin, source, _store: [] if source == "release" else ["something"])
        sourcing = Sourcing(origin=Origin(binary_mirror=mirror.url))
        assert sources.choose(DEFAULT, sourcing, Store(tmp_path)) == ("release", "")
        assert not mirror.requests

    def test_a_cluster_stays_with_its_source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "missing", lambda *_: [])
        assert sources.choose(DEFAULT, Sourcing(), Store(tmp_path))[0] == "modules"
        assert sources.choose(DEFAULT, Sourcing(preferred="release"), Store(tmp_path))[0] == "release"

    def test_releases_where_they_answer(self, tmp_path: Path, mirror: FileServer) -> None:
        source, said = sources.choose(DEFAULT, Sourcing(origin=Origin(binary_mirror=mirror.url)), Store(tmp_path))
        assert source == "release"
        assert said == mirror.url

    def test_modules_where_they_do_not(self, tmp_path: Path, mirror: FileServer) -> None:
        mirror.faults[f"{KUBELET}.sha256"] = [status(503)] * 5
        sourcing = Sourcing(origin=Origin(binary_mirror=mirror.url))
        source, said = sources.choose(DEFAULT, sourcing, Store(tmp_path))
        assert source == "modules"
        assert said == mirror.url
        # Whoever was silent is left alone for a while.
        assert (sources.choose(DEFAULT, sourcing, Store(tmp_path))[0], len(mirror.requests)) == ("modules", 1)

    def test_who_lacks_one_version_may_have_another(self, tmp_path: Path, mirror: FileServer) -> None:
        sourcing = Sourcing(origin=Origin(binary_mirror=mirror.url))
        assert sources.choose(DEFAULT._replace(kubernetes="v1.36.0"), sourcing, Store(tmp_path))[0] == "modules"
        assert sources.choose(DEFAULT, sourcing, Store(tmp_path))[0] == "release"

    def test_somebody_who_never_answers_is_not_waited_for(self, tmp_path: Path, mirror: FileServer) -> None:
        mirror.faults["/file"] = [lambda *_: time.sleep(30)]
        assert not sources.answers(f"{mirror.url}/file", Store(tmp_path), seconds=0.3)

    def test_the_record_of_silence_runs_out_and_may_be_damaged(self, tmp_path: Path, mirror: FileServer) -> None:
        store = Store(tmp_path)
        mirror.faults["/file"] = [status(503)]
        assert not sources.answers(f"{mirror.url}/file", store)
        record = tmp_path / "silent.json"
        record.write_text(json.dumps({key: when - 3600 for key, when in json.loads(record.read_text()).items()}))
        assert sources.answers(f"{mirror.url}{KUBELET}", store)
        record.write_text("{")
        assert sources.answers(f"{mirror.url}{KUBELET}", store)

    def test_bundle_allows_the_store_only(self, tmp_path: Path) -> None:
        with pytest.raises(Reason, match="--source=bundle allows nothing else"):
            sources.choose(DEFAULT, Sourcing("bundle"), Store(tmp_path))


def test_pins_of_many_at_once(tmp_path: Path) -> None:
    pins = Pins(tmp_path)
    pins.hold("a", "sha256:1")
    Pins(tmp_path).hold("b", "sha256:2")
    pins.hold("a", "sha256:1")
    assert (pins.known("a"), pins.known("b"), pins.known("c")) == ("sha256:1", "sha256:2", "")


@pytest.mark.parametrize(
    ("repository", "country", "chosen"),
    [
        ("", "", ""),
        ("auto", "", ""),
        ("https://registry.example/k8s/", "", "registry.example/k8s"),
        ("", "cn", endpoints.IMAGES_BY_COUNTRY["cn"]),
        ("auto", "CN", endpoints.IMAGES_BY_COUNTRY["cn"]),
        ("registry.example", "cn", "registry.example"),
    ],
)
def test_repository_for_images(repository: str, country: str, chosen: str) -> None:
    assert chosen_repository(repository, country) == chosen


def test_a_country_without_mirror() -> None:
    with pytest.raises(Reason, match="No mirror"):
        chosen_repository("", "de")


def test_names_in_registries_without_directories() -> None:
    assert endpoints.image_names(DEFAULT, "registry.k8s.io")["coredns"] == f"registry.k8s.io/coredns/coredns:{DEFAULT.coredns}"
    flat = endpoints.IMAGES_BY_COUNTRY["cn"]
    assert endpoints.image_names(DEFAULT, flat)["coredns"] == f"{flat}/coredns:{DEFAULT.coredns}"
