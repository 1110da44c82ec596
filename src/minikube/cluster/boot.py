"""Bring a cluster up: the graph of steps from a profile's configuration to pods that are ready."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from minikube import __version__
from minikube.addons import storage
from minikube.artifacts.catalogue import VersionSet
from minikube.artifacts.components import Components
from minikube.artifacts.endpoints import image_names
from minikube.cluster import addons, context, failures, kubectl, newimages, readiness, specification, usersfiles
from minikube.cluster.nodefiles import node_files
from minikube.cluster.nodeproxies import node_proxies, tell_network_options
from minikube.cluster.services import metadata
from minikube.cluster.steps import Graph
from minikube.cluster.sync import bring
from minikube.drivers.base import Driver, Node
from minikube.drivers.values import File
from minikube.kubernetes import hardening, health, hostusers, secretsatrest, sharedshims
from minikube.kubernetes.api import Api, ApiError, ApiUnreachable, object_path
from minikube.kubernetes.clusterspec import (
    APISERVER_DIRECTORY,
    ETCD_DIRECTORY,
    KUBEADM_FILE,
    KUBERNETES_DIRECTORY,
    PATCHES_DIRECTORY,
    SEED_DIRECTORY,
    ClusterSpec,
)
from minikube.kubernetes.coredns import coredns_objects
from minikube.kubernetes.firstpods import api_service, authority_for_pods, taken_addresses, with_first_pods
from minikube.kubernetes.healthz import WELL
from minikube.kubernetes.kubeadm import register_cluster_command
from minikube.kubernetes.kubelet import kubelet_command
from minikube.kubernetes.kubeproxy import kube_proxy_objects
from minikube.kubernetes.labels import node_labels
from minikube.kubernetes.seeding import text_of, transactions
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.paths import profile_directory
from minikube.runtimes.registryhosts import CERTIFICATES, registry_hosts

# After a node has started. What talks to the API takes a tenth of a second of CPU to load, which the node has better use for until then.
NOBODY_ANSWERS_SECONDS = 0.5
REGISTERED = "/var/lib/minikube/registered"  # in the node: which configuration the cluster's own objects were made from


class Boot:
    """One bringing-up. The steps share what they find out through its attributes."""

    def __init__(self, config: ClusterConfig, driver: Driver, components: Components, versions: VersionSet, report: Report) -> None:
        self.config = config
        self.driver = driver
        self.components = components
        self.versions = versions
        self.report = report
        self.deadline = time.monotonic() + config.StartHostTimeout / specification.NANOSECONDS
        self.machine = driver.machine()
        self.node: Node
        self.spec: ClusterSpec
        self.files: dict[str, File] = {}
        self.late: dict[str, File] = {}  # files of the user's that only a running node can take
        self.seeded = False  # whether this command has given a new database its first objects
        self.objects_changed = False  # those of a cluster that was there before
        self.booted: float = 0  # when this command started the node; 0 if it was running already

    def graph(self) -> Graph:
        """What depends on what. Everything else runs at once."""
        graph = Graph()
        graph.step("create the box", self.create)
        graph.step("read ahead", read_ahead)
        graph.step("copy the images", self.fill, needs=("create the box",))
        graph.step("write certificates", self.write_certificates, needs=("create the box",))
        graph.step("write configuration", self.write_configuration, needs=("create the box",))
        graph.step("build the node", self.driver.build, needs=("copy the images",))
        graph.step("start the node", self.start_node, needs=("build the node", "write certificates", "write configuration"))
        graph.step("write kubeconfig", self.write_kubeconfig, needs=("write certificates",))
        graph.step("API server answers", self.wait_for_api, needs=("start the node",))
        graph.step("create objects", self.create_objects, needs=("API server answers",))
        graph.step("register with kubeadm", self.register, needs=("API server answers",))
        graph.step("label the node", self.label_node, needs=("API server answers",))
        graph.step("restore addons", self.restore_addons, needs=("create objects",))
        graph.step("wait for pods", self.wait_for_cluster, needs=("create objects", "write kubeconfig"))
        graph.step("remember", self.remember, needs=("wait for pods", "register with kubeadm", "label the node"))
        return graph

    def graph_of_running(self) -> Graph:
        """For a running node that fits: its objects are there, so see that all is well."""
        graph = Graph()
        graph.step("look at the node", self.inspect)
        graph.step("write kubeconfig", self.write_kubeconfig, needs=("look at the node",))
        graph.step("API server answers", self.wait_for_api, needs=("look at the node",))
        graph.step("restore addons", self.restore_addons, needs=("API server answers",))
        graph.step("wait for pods", self.wait_for_cluster, needs=("API server answers", "write kubeconfig"))
        return graph

    def graph_of_resized(self) -> Graph:
        """For a running node that has just got other limits: the kubelet has to know."""
        graph = Graph()
        graph.step("restart the kubelet", self.restart_kubelet)
        graph.step("write kubeconfig", self.write_kubeconfig, needs=("restart the kubelet",))
        graph.step("API server answers", self.wait_for_api, needs=("restart the kubelet",))
        graph.step("register with kubeadm", self.register, needs=("API server answers",))
        graph.step("wait for pods", self.wait_for_cluster, needs=("API server answers", "write kubeconfig"))
        graph.step("remember", self.remember, needs=("wait for pods", "register with kubeadm"))
        return graph

    def fits(self) -> bool:
        """Whether a running node is what the configuration asks for; a start that was interrupted or failed leaves one that is not."""
        from minikube.cluster import certificates

        certificates.authority(self.config.Name)  # a new one, if it was lost or expires soon; the running node does not fit then
        self.node = self.driver.node()
        self.spec = specification.cluster_spec(self.config, self.node, self.machine, self.versions)
        self.files = self._node_files()
        same = self._registered() and self.driver.limits() == specification.limits(self.config, self.machine)
        return same and not failures.of_services(self.node.services())

    def change_limits(self) -> bool:
        """For a running node that does not fit: True if only its limits did not, and they are changed now."""
        before, wanted, spec = self.driver.limits(), specification.limits(self.config, self.machine), self.spec
        self.spec = msgspec.structs.replace(spec, memory_bytes=before.memory_mb << 20, cpus=before.cpus)
        self.files = self._node_files()
        same = self._registered()
        self.spec = spec
        self.files = self._node_files()
        return same and before != wanted and self.driver.change_limits(wanted)

    def restart_kubelet(self) -> None:
        self.inspect()
        self.node.put_own(self.files)
        self.node.restart_services("kubelet")

    def inspect(self) -> None:
        """A running node keeps its box; certificates that expire soon are renewed."""
        self.report.step(self.driver.step, f'Looking after the running "{self.config.Name}" cluster ...', style="running")
        self.driver.look_after()
        from minikube.cluster import certificates

        certificates.renew_running(self.node, self.spec, specification.identity(self.config, self.node), self.report.warning)
        bring(self.node, self.report)

    def create(self) -> None:
        profile_files.save(self.config)  # what cannot be written is found out before the host is changed
        self.report.step(self.driver.step, self._box_words(), style="running")
        self.node = self.driver.create(self.components, specification.limits(self.config, self.machine), self.report.progress)
        self.machine = self.driver.machine()  # more is known once the box is made
        for warning in self.driver.warnings():
            self.report.warning(warning)
        for entry in self.config.Nodes or []:
            entry.IP = self.node.address
        profile_files.save(self.config)
        tell_network_options(self.node.address, self.report)
        self.spec = specification.cluster_spec(self.config, self.node, self.machine, self.versions)
        kubernetes = self.config.KubernetesConfig
        runtime = f"{kubernetes.ContainerRuntime} {self.versions.containerd.lstrip('v')}"
        # Told here, before the steps that run side by side: readers of events expect numbers that only grow.
        message = f"Preparing Kubernetes {kubernetes.KubernetesVersion} on {runtime} ..."
        self.report.step("Preparing Kubernetes", message, style="containerd")

    def fill(self) -> None:
        self.driver.fill(self.report.progress)
        newimages.bring(
            self.node,
            self.versions,
            config=self.config,
            new=self._database_is_new(),
            progress=self.report.progress,
            roots=self.driver.roots_directory(),
        )

    def write_certificates(self) -> None:
        from minikube.cluster import certificates
        from minikube.kubernetes.certificates import unused_authority

        self.report.step("Generating certificates", "Generating certificates and keys ...", style="sub")
        if unused := unused_authority(self.config.Name):
            self.report.warning(
                f"{unused} signs nothing: each cluster has an authority of its own. To have this one sign for the cluster, "
                f"copy ca.crt and ca.key to {profile_directory(self.config.Name)}, then run `minikube start` again."
            )
        certificates.ensure(self.node, self.spec, specification.identity(self.config, self.node), self.report.warning)

    def write_configuration(self) -> None:
        self.files = self._node_files()
        self.node.put_own(self.files)
        theirs = usersfiles.collect(self.node, self.report.warning)
        self.late = {path: theirs[path] for path in usersfiles.put(self.node, theirs)}
        usersfiles.trust(self.node, self.report.warning)
        if self._database_is_new():
            self._begin_database()

    def _begin_database(self) -> None:
        from minikube.cluster import certificates

        now = time.time()
        objects = [authority_for_pods(certificates.authority(self.config.Name)), api_service(self.spec.api_service_ip, self.spec.port)]
        objects += [obj for obj in self._wanted_objects() if obj["kind"] != "Namespace"]
        if self.spec.at_least(33):
            objects += taken_addresses(objects)
        if self.spec.at_least(30) and specification.refuses_host_users(self.spec, self.machine):
            objects += hostusers.objects()
        first = with_first_pods(objects, node_name=self.spec.node_name, moment=text_of(now))
        bodies = transactions(self.components.seed, first, now=now)
        self.seeded = True
        seed = {f"{SEED_DIRECTORY}/{number:02}.json": File(body.encode()) for number, body in enumerate(bodies)}
        if self.node.read(REGISTERED):
            self.report.warning(f'The database of "{self.config.Name}" is gone: it starts empty. Files in volumes are still there.')
            seed[REGISTERED] = File(b"")  # every object has to be made again
        self.node.put(seed)

    def start_node(self) -> None:
        self.report.step("Booting control plane", "Booting up control plane ...", style="sub")
        self.booted = time.time()
        setup = self.driver.setup(service_address=self.spec.api_service_ip, api_port=self.spec.port)
        self.driver.start(
            metadata(
                self.spec,
                setup=setup,
                write_manifests=not self._manifests_are_current(),
                seed_database=self._database_is_new(),
                import_images=newimages.are_arriving(self.node),
                proxies=node_proxies(self.spec, self.node, self.report),
            )
        )
        usersfiles.put_late(self.node, self.late, self.report.warning)
        usersfiles.link_certificates(self.node, self.report.warning)

    def write_kubeconfig(self) -> None:
        context.write(self.config, self.node)
        cached = Path(kubectl.binary(self.config.KubernetesConfig.KubernetesVersion))
        link(cached, self.components.kubectl)
        for name in ("kubelet", "kubeadm"):  # upstream's place, where other tools look for them
            link(cached.with_name(name), self.components.node_binaries / "usr/local/bin" / name)

    def wait_for_api(self) -> None:
        if self.booted:
            time.sleep(NOBODY_ANSWERS_SECONDS)
        with self.api() as api:
            readiness.wait_for_api(api, self.driver, self.node, deadline=self.deadline, fresh=self.seeded)
            if self.booted and not self.seeded and not self._registered():
                self._tell_of_new_authority(api)

    def _tell_of_new_authority(self, api: Api) -> None:
        from minikube.cluster import newauthority
        from minikube.kubernetes.certificates import ensure_authorities

        authorities = ensure_authorities(self.config.Name)

        def tell() -> None:
            if newauthority.is_unknown(api, authorities):
                newauthority.tell(api, self.node, authorities)

        self._retry(tell)

    def create_objects(self) -> None:
        if self._registered():
            return
        self.objects_changed = self.node.exists(REGISTERED)
        self.report.step("Configuring RBAC rules", "Configuring RBAC rules ...", style="sub")
        with self.api() as api:
            objects = self._wanted_objects()
            self.seeded = self.seeded and self._is_there(api, objects[-1])
            if self.seeded:
                return  # they came with the database, all at once
            for obj in objects:
                self._retry(partial(api.create_all, [obj]))
            self._retry(partial(api.delete, storage.BARE_POD))

    def restore_addons(self) -> None:
        """What is enabled is there, also where somebody has removed it or scaled it down, and what is disabled is not."""
        if self.seeded:
            return  # they have just been made
        with self.api() as api:
            for name in storage.addons():
                self._retry(partial(addons.restore if name in self._enabled() else addons.remove, api, name))

    def register(self) -> None:
        """kubeadm puts its own configuration, and what nodes that join need, into the cluster."""
        if self._registered():
            return
        while (result := self.node.run(register_cluster_command(self.spec), timeout=self._seconds_left())).code:
            words = result.stderr.decode(errors="replace")[-2000:]
            # kubeadm gives each of its calls ten seconds, however slow the machine is; what it did stays done.
            if "deadline exceeded" not in words or time.monotonic() >= self.deadline:
                raise Reason("K8S_INSTALL_FAILED", f"kubeadm could not register the cluster: {words}")

    def label_node(self) -> None:
        labels = node_labels(profile=self.config.Name, version=f"v{__version__}", commit="", primary=True)
        with self.api() as api:
            self._retry(lambda: api.patch(f"/api/v1/nodes/{self.node.name}", {"metadata": {"labels": labels}}))

    def wait_for_cluster(self) -> None:
        wanted = self.config.VerifyComponents or {}
        if not any(wanted.values()):
            return
        self.report.step("Verifying Kubernetes", "Verifying Kubernetes components...", style="verifying")
        with self.api() as api:
            if wanted.get("system_pods") and self.objects_changed:
                health.wait_rolled_out(api, deadline=self.deadline)
            if wanted.get("system_pods"):
                apps = health.SYSTEM_APPS | {name: storage.LABELS[name] for name in self._enabled() if name in storage.LABELS}
                readiness.wait_for_pods(api, self.node, self.spec, deadline=self.deadline, booted=self.booted, apps=apps)
            health.wait_for(
                api,
                wanted,
                node_name=self.node.name,
                version=self.config.KubernetesConfig.KubernetesVersion,
                deadline=self.deadline,
                health=WELL if self.booted and (self.seeded or self._registered()) else "/healthz",
                kubelet_runs=lambda: self.node.services().get("kubelet", {}).get("state") in ("running", "ready"),
            )

    def remember(self) -> None:
        """From now on, a start with the same configuration has nothing to create."""
        if self._registered():
            return
        if not self.seeded:
            with self.api() as api:
                hostusers.tell(api, refuse=specification.refuses_host_users(self.spec, self.machine))
                hardening.remove_others(api, self.spec)
                if self.spec.secrets_key:
                    secretsatrest.rewrite(api)
        self.node.put({REGISTERED: File(self.fingerprint().encode())})

    def api(self) -> Api:
        """A connection of its own for each step: steps run side by side."""
        return context.api(self.config, self.node)

    def fingerprint(self) -> str:
        """Changes when anything the cluster's objects are made from does."""
        authority = profile_directory(self.config.Name) / "ca.crt"
        made_from = [json.dumps(self._objects(), sort_keys=True).encode(), self.files[KUBEADM_FILE].content, authority.read_bytes()]
        made_from += [" ".join(kubelet_command(self.spec)).encode(), str(self.machine.user_namespace).encode()]
        made_from.append(str(specification.refuses_host_users(self.spec, self.machine)).encode())
        directories = (CERTIFICATES, PATCHES_DIRECTORY, APISERVER_DIRECTORY)
        made_from += [path.encode() + file.content for path, file in self.files.items() if path.startswith(directories)]
        # A new runc, containerd or node image is taken up by the next start, also by that of a running cluster.
        parts = self.components
        made_from += [part.parent.parent.name.encode() for part in (parts.node_image / "-", parts.node_binaries / "-", parts.runc)]
        return hashlib.sha256(b"\0".join(made_from)).hexdigest()

    def _wanted_objects(self) -> list[dict[str, Any]]:
        """All but those of addons that are off."""
        off = [obj for name, objects in storage.addons().items() if name not in self._enabled() for obj in objects]
        paths = {object_path(obj) for obj in off}
        return [obj for obj in self._objects() if object_path(obj) not in paths]

    def _objects(self) -> list[dict[str, Any]]:
        """With those of every addon: switching one on or off is no reason to start a running node again."""
        images = image_names(self.versions, self.spec.image_repository)
        objects = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}},
            *kube_proxy_objects(self.spec, image=images["kube-proxy"]),
            *coredns_objects(
                self.spec,
                image=images["coredns"],
                host_ip=self.node.gateway,
                log=not self.config.DisableCoreDNSLog,
            ),
            *hardening.objects(self.spec),
            *(obj for objects in storage.addons().values() for obj in objects),
        ]
        return [sharedshims.in_groups(obj) for obj in objects]

    def _enabled(self) -> list[str]:
        """Addons that are on."""
        return [name for name in storage.addons() if (self.config.Addons or {}).get(name, True)]

    def _node_files(self) -> dict[str, File]:
        return node_files(
            self.spec,
            self.node,
            pause_image=image_names(self.versions, self.spec.image_repository)["pause"],
            registries=registry_hosts(self.config.InsecureRegistry or (), self.config.RegistryMirror or ()),
            machine=self.machine,
            prepared_store=self.components.prepared_store,
        )

    def _retry(self, act: Callable[[], object]) -> None:
        """In its first second the API server refuses some requests that it will take soon (namespaces, address ranges, the node)."""
        while True:
            try:
                act()
            except (ApiError, ApiUnreachable) as error:
                if time.monotonic() > self.deadline:
                    raise Reason("K8S_INSTALL_FAILED", f"the API server refuses what the cluster needs: {error}") from error
                time.sleep(0.05)
            else:
                return

    def _is_there(self, api: Api, obj: dict[str, Any]) -> bool:
        found: list[object] = []
        self._retry(lambda: found.append(api.find(object_path(obj))))
        return found[0] is not None

    def _registered(self) -> bool:
        before = self.node.read(REGISTERED)
        return before is not None and before == self.fingerprint().encode()  # which takes a while: a new cluster need not know

    def _manifests_are_current(self) -> bool:
        return self._registered() and self.node.read(f"{KUBERNETES_DIRECTORY}/manifests/etcd.yaml") is not None

    def _database_is_new(self) -> bool:
        return not self.node.exists(f"{ETCD_DIRECTORY}/member")

    def _seconds_left(self) -> float:
        return max(self.deadline - time.monotonic(), 1.0)

    def _box_words(self) -> str:
        cpus = self.config.CPUs or "no limit on"
        memory = f"{self.config.Memory}MB" if self.config.Memory else "no limit"
        return f"Running {self.driver.where} (CPUs={cpus}, Memory={memory}) ..."


def read_ahead() -> None:
    """Other programs make the box; Python meanwhile reads what the steps after that need. (What talks to the API has time later.)"""
    import yaml  # noqa: F401

    import minikube.cluster.certificates  # noqa: F401


def link(place: Path, target: Path) -> None:
    """Make `place` lead to `target`, replacing an older link in one step."""
    if place.is_symlink() and place.readlink() == target:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # Other profiles of this home may be starting at the same moment.
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(place)
