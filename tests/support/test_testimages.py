"""The test images are what tests on a cluster take them for."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest
from support.testimages import BUSYBOX, HTTP, build_test_images

from minikube.artifacts.oci import image_ids


@pytest.mark.build
def test_both_images_are_in_the_archive(tmp_path: Path) -> None:
    node_image = os.environ.get("MINIKUBE_TEST_NODE_IMAGE")
    if not node_image or os.geteuid() != 0:
        pytest.skip("needs root, and MINIKUBE_TEST_NODE_IMAGE naming a built node image")
    archive = build_test_images(tmp_path, node_image=Path(node_image))
    assert image_ids(archive).keys() == {BUSYBOX, HTTP}
    with tarfile.open(archive) as outer:
        largest = max(outer, key=lambda member: member.size)
        with tarfile.open(fileobj=outer.extractfile(largest)) as layer:
            assert {"bin/sh", "bin/wget", "bin/nslookup", "bin/httpd", "bin/nc"} <= set(layer.getnames())
