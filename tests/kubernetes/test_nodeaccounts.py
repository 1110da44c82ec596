"""Users and groups that are added to those of a node."""

from minikube.kubernetes import nodeaccounts


def test_ours_are_added_once_and_others_stay() -> None:
    once = nodeaccounts.users(b"root:x:0:0:root:/root:/bin/bash\n")
    assert [line.partition(":")[0] for line in once.splitlines()] == ["root", "kubelet", "etcd"]
    assert nodeaccounts.users(once.encode()) == once
    theirs = "kubelet:x:5:5::/home:/bin/sh\netcd:x:6:6::/home:/bin/sh\n"
    assert nodeaccounts.users(theirs.encode()) == theirs


def test_each_user_has_its_group() -> None:
    users = {line.split(":")[0]: line.split(":")[3] for line in nodeaccounts.users(b"").splitlines()}
    assert users == {line.split(":")[0]: line.split(":")[2] for line in nodeaccounts.groups(b"").splitlines()}
