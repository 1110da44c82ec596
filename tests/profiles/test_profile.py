import pytest

from minikube.output.reason import Reason
from minikube.profiles import profile
from minikube.profiles.clusterconfig import Node, new_cluster_config


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINIKUBE_HOME", str(tmp_path))
    return tmp_path / ".minikube"


def saved(name: str, **fields):
    config = new_cluster_config(name)
    config.Driver = "none"
    config.Nodes = [Node(KubernetesVersion="v1.37.1")]
    for field, value in fields.items():
        setattr(config, field, value)
    profile.save(config)
    return config


def test_no_profile_is_none():
    assert profile.load("minikube") is None
    assert not profile.exists("minikube")


def test_save_and_load(home):
    config = saved("minikube", Memory=2048)
    assert profile.load("minikube") == config
    assert (home / "profiles/minikube/config.json").stat().st_mode & 0o777 == 0o600


def test_a_damaged_file_is_named_and_left_alone(home):
    saved("minikube")
    path = home / "profiles/minikube/config.json"
    path.write_bytes(path.read_bytes()[:100])
    for act in (lambda: profile.load("minikube"), lambda: profile.save(new_cluster_config("minikube"))):
        with pytest.raises(Reason) as caught:
            act()
        assert caught.value.id == "HOST_CONFIG_LOAD"
        assert str(path) in caught.value.message
        assert "minikube delete -p minikube" in caught.value.advice
    assert len(path.read_bytes()) == 100


def test_list_tells_valid_from_invalid(home):
    saved("two")
    saved("one")
    saved("nodriver", Driver="")
    saved("noversion", Nodes=[Node()])
    (home / "profiles/empty").mkdir()
    (home / "profiles/broken").mkdir()
    (home / "profiles/broken/config.json").write_text("{")
    (home / "profiles/a-file").write_text("")
    listing = profile.list_profiles()
    assert [one.name for one in listing.valid] == ["one", "two"]
    assert [one.name for one in listing.invalid] == ["broken", "empty", "nodriver", "noversion"]
    assert listing.invalid[0].config is None
    assert listing.invalid[2].config is not None


def test_list_without_a_home():
    assert profile.list_profiles() == ([], [])


def test_delete_twice(home):
    saved("minikube")
    profile.delete("minikube")
    profile.delete("minikube")
    assert not (home / "profiles/minikube").exists()


@pytest.mark.parametrize(
    ("content", "name"), [('{"profile": "dev"}', "dev"), ("{", "minikube"), ("[]", "minikube"), ('{"profile": 3}', "minikube")]
)
def test_active_profile(home, content, name):
    assert profile.active_profile() == "minikube"
    (home / "config").mkdir(parents=True)
    (home / "config/config.json").write_text(content)
    assert profile.active_profile() == name


@pytest.mark.parametrize("name", ["minikube", "a1", "My-Cluster", "p1.example", "m02-x"])
def test_names_upstream_takes(name):
    profile.validate_name(name)


@pytest.mark.parametrize("name", ["", "a", "-ab", "ab-", "a_b", "a b", "a/b", "..", "über", "ab\n"])
def test_names_upstream_refuses(name):
    with pytest.raises(Reason) as caught:
        profile.validate_name(name)
    assert caught.value.id == "MK_USAGE"


def test_names_that_no_certificate_of_a_node_could_have():
    profile.validate_name("x" * 52)
    with pytest.raises(Reason, match="it has 53 characters") as caught:
        profile.validate_name("x" * 53)
    assert caught.value.id == "MK_USAGE"


def test_reserved_names():
    with pytest.raises(Reason) as caught:
        profile.validate_name("Status")
    assert caught.value.id == "MK_RESERVED_PROFILE"


def test_machine_names():
    assert profile.machine_name("dev") == "dev"
    assert profile.machine_name("dev", "m02") == "dev-m02"
