"""Images for tests on a cluster, made from the node image's busybox: no registry is needed."""

from __future__ import annotations

from pathlib import Path

from minikube.artifacts.oci import Entry, Image, Layer, write_archive
from minikube.host.process import run

BUSYBOX = "localhost/minikube-test/busybox:1"
HTTP = "localhost/minikube-test/http:1"  # answers on port 8080 with the name of its pod

# As pid 1, httpd would not hear SIGTERM, and every deletion of a pod would take its whole grace period.
_SERVE = b"""\
#!/bin/sh
trap 'exit 0' TERM INT
mkdir -p /www && hostname > /www/index.html
httpd -f -p 8080 -h /www &
wait
"""


def build_test_images(destination: Path, *, node_image: Path) -> Path:
    """Write an archive with both images into a directory; gives its path, for `ctr images import`."""
    archive = destination / "test-images.tar"
    busybox = _busybox_layer(node_image)
    serve = (Entry("usr/local/bin/serve", content=_SERVE),)
    images = [
        Image(BUSYBOX, (busybox,), command=("sh",)),
        Image(HTTP, (busybox, serve), command=("serve",), ports=("8080/tcp",)),
    ]
    write_archive(archive, images)
    return archive


def _busybox_layer(node_image: Path) -> Layer:
    applets = run(["chroot", str(node_image), "busybox", "--list"]).text.split()
    return (
        Entry("bin/busybox", source=node_image / "usr/bin/busybox"),
        *(Entry(f"bin/{name}", target="busybox") for name in applets if name != "busybox"),
        Entry("etc/passwd", 0o644, content=b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
        Entry("etc/group", 0o644, content=b"root:x:0:\nnogroup:x:65534:\n"),
        Entry("etc/nsswitch.conf", 0o644, content=b"hosts: files dns\n"),
        Entry("root", 0o700),
        Entry("tmp", 0o1777),
    )
