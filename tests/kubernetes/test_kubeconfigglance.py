"""The quick look into a kubeconfig: the same answer as the YAML library's, or none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from minikube.kubernetes import kubeconfig, kubeconfigglance

PLAIN = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority: /home/me/.minikube/ca.crt
    extensions:
    - extension:
        last-update: Mon, 16 Nov 2026 06:16:06 UTC
        provider: minikube.sigs.k8s.io
        server: https://wrong:1
      name: cluster_info
    server: https://192.168.49.2:8443
  name: dev
- name: first-name
  cluster:
    server: https://10.0.0.1
contexts:
- context:
    cluster: dev
    namespace: default
    user: dev
  name: dev
- context:
    cluster: first-name
    user: dev
  name: other
current-context: dev
kind: Config
preferences: {}
users:
- name: dev
  user:
    client-certificate-data: TFM0dEZ=
    exec:
      args:
      - get-token
      command: aws
"""
OTHER_STYLES = {
    "quotes": PLAIN.replace("current-context: dev", 'current-context: "dev"'),
    "flow": "clusters: [{name: dev, cluster: {server: 'https://a:1'}}]\ncontexts: [{name: dev, context: {cluster: dev}}]\n",
    "further in": "clusters:\n  - cluster:\n      server: https://a:1\n    name: dev\ncontexts:\n  - context:\n      cluster: dev\n",
    "deep": "clusters:\n- cluster:\n      server: https://a:1\n  name: dev\ncontexts:\n- context:\n      cluster: dev\n  name: dev\n",
    "block": PLAIN + "note: |\n  clusters:\n  - name: dev\n",
    "comment": PLAIN.replace("    server: https://192", "    # moved\n    server: https://192"),
    "several lines": 'note: "a\nclusters:\n- name: dev"\n' + PLAIN,
    "continued": PLAIN.replace("    server: https://192", "    server:\n      https://192"),
    "document": "---\n" + PLAIN,
    "anchor": PLAIN.replace("server: https://192", "server: &here https://192"),
}


@pytest.mark.parametrize("text", [PLAIN, "", "kind: Config\n", *OTHER_STYLES.values()], ids=["plain", "empty", "nothing", *OTHER_STYLES])
def test_same_answer(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(file))
    for profile in ("dev", "other", "first-name", "nobody"):
        assert kubeconfigglance.endpoint(profile) == kubeconfig.endpoint(profile), profile
    assert kubeconfigglance.current_context() == kubeconfig.current_context()


def test_plain_files_need_no_library() -> None:
    contents = kubeconfigglance.scan(PLAIN)
    assert contents is not None
    assert contents.servers == {"dev": "https://192.168.49.2:8443", "first-name": "https://10.0.0.1"}
    assert contents.clusters == {"dev": "dev", "other": "first-name"}
    assert contents.current == "dev"


@pytest.mark.parametrize("style", OTHER_STYLES)
def test_other_styles_are_left_to_it(style: str) -> None:
    assert kubeconfigglance.scan(OTHER_STYLES[style]) is None


def test_what_we_write_is_plain(tmp_path: Path) -> None:
    file = tmp_path / "config"
    path = Path("/home/me/x")
    kubeconfig.merge(kubeconfig.Entry("dev", "https://10.5.0.2:8443", path, path, path, "v1"), file=file)
    contents = kubeconfigglance.scan(file.read_text())
    assert contents is not None
    assert contents.servers == {"dev": "https://10.5.0.2:8443"}


def test_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{tmp_path}/config")
    assert kubeconfigglance.endpoint("dev") == ""
    (tmp_path / "config").write_text(PLAIN)
    assert kubeconfigglance.file_text() == str(kubeconfig.path()) == f"{tmp_path}/config"
    (tmp_path / "config").write_bytes(b"\xff\xfe")
    assert kubeconfigglance.endpoint("dev") == ""
