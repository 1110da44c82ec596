"""Files of the node that we share with its user."""

from minikube.cluster.nodefiles import hosts


def lines(before: str) -> list[str]:
    return hosts(before.encode(), name="box", address="192.168.49.2", gateway="192.168.49.1").splitlines()


def test_our_names_are_there() -> None:
    assert lines("") == [
        "127.0.0.1\tlocalhost",
        "192.168.49.2\tbox",
        "192.168.49.2\tcontrol-plane.minikube.internal",
        "192.168.49.1\thost.minikube.internal",
    ]


def test_what_a_user_added_survives_and_ours_are_replaced() -> None:
    theirs = ["10.9.9.9 my.registry", "::1 localhost ip6-localhost", "# localhost is here", "10.1.1.1 a b # box"]
    after = lines("\n".join(["127.0.0.1\tlocalhost", *theirs, "192.168.1.2\tcontrol-plane.minikube.internal", ""]))
    assert after[4:] == theirs
    assert lines("\n".join(after)) == after


def test_other_names_on_a_line_of_ours_stay() -> None:
    after = lines("192.168.1.2 control-plane.minikube.internal mine # both\n127.0.0.1 localhost localhost.localdomain\n")
    assert after[4:] == ["192.168.1.2\tmine\t# both", "127.0.0.1\tlocalhost.localdomain"]
    assert lines("\n".join(after)) == after
