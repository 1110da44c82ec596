"""`start`: make a cluster, bring a stopped one back, or see that a running one is well."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from minikube import __version__
from minikube.artifacts import sources, unpinned
from minikube.artifacts.rootspart import making
from minikube.cluster import rights, scheduledstop, steps
from minikube.cluster.boot import Boot
from minikube.cluster.evidence import last_words
from minikube.cluster.mirrors import sourcing
from minikube.cluster.pausing import wake
from minikube.cluster.preflight import meet_machine, prepare
from minikube.drivers import machinefile
from minikube.drivers.base import Driver
from minikube.host import system
from minikube.kubernetes import kubeconfig
from minikube.output.debuglog import debug
from minikube.output.reason import Reason
from minikube.output.report import Report
from minikube.profiles import profile as profile_files
from minikube.profiles import userconfig
from minikube.profiles.clusterconfig import ClusterConfig
from minikube.profiles.locks import profile_lock
from minikube.profiles.paths import machine_directory
from minikube.profiles.settings import Settings

if TYPE_CHECKING:
    from minikube.cluster.bundles import StartBundle


def start(settings: Settings, report: Report) -> None:
    """Start the profile's cluster; what cannot work is refused before anything is made."""
    began = time.monotonic()
    profile = settings.profile
    profile_files.validate_name(profile)
    rights.require_for_start(settings, report)
    report.step("Initial Minikube Setup", f"{_prefix(profile)}minikube v{__version__} on {system.description()}", style="happy")
    with profile_lock(profile, command="start", on_wait=report.info):
        existing = profile_files.load(profile)
        before = existing.KubernetesConfig.KubernetesVersion if existing else ""
        machine = profile_files.machine_name(profile)
        bundle = _bundle(settings)
        definition, config, own, driver = prepare(settings, existing, machine, report)
        _say_what_is_gone(existing, machine, report)
        _say_what_has_no_effect(settings, report)
        if settings.get("dry-run"):
            report.info("dry-run validation complete!", style="happy")
            return
        wanted, version = sourcing(settings, config), config.KubernetesConfig.KubernetesVersion
        report.step("Downloading Artifacts", f"Components of Kubernetes {version} ...", style="sub")
        with making():
            if bundle:
                bundle.bring_in(version, wanted.origin, report.progress)
            versions = unpinned.version_set(version, wanted, report.progress)
            components, config.ComponentSource = sources.provide(versions, wanted, report.progress)
        if settings.get("download-only"):
            report.info("Download complete!", style="check")
            return
        kubeconfig.require_usable()
        machinefile.save(machine, definition.name, own, roots=driver.roots_directory())
        meet_machine(settings, config, driver, report, fresh=existing is None)
        report.step("Starting Node", f'Starting "{profile}" primary control-plane node in "{profile}" cluster', style="thumbs-up")
        boot = Boot(config, driver, components, versions, report)
        _bring_up(boot, driver, settings, report, before=before)
        if bundle:
            bundle.load_images(driver.node(), report)
        profile_files.save(config)
        if settings.get("cache-images") and userconfig.read().get("cache"):
            from minikube.cluster.imagecache import load_into

            load_into(driver.node(), report)
    report.step(
        "Enabling Addons", f"Enabled addons: {', '.join(sorted(name for name, on in (config.Addons or {}).items() if on))}", style="addons"
    )
    report.step("Done", _done(config, time.monotonic() - began), style="ready")


def _say_what_is_gone(existing: ClusterConfig | None, machine: str, report: Report) -> None:
    """A profile with an address has had a machine."""
    directory = machine_directory(machine)
    if existing and any(node.IP for node in existing.Nodes or []) and not directory.exists():
        report.warning(f'The machine of "{existing.Name}" is gone, with all that was in it ({directory}): a new cluster takes its place.')


def _say_what_has_no_effect(settings: Settings, report: Report) -> None:
    """Everything but these has been asked for by now, or never will be."""
    for name in settings.unread():
        if name not in ("dry-run", "download-only", "delete-on-failure", "timing", "cache-images"):
            report.warning(f"--{name} has no effect yet: see docs/compatibility.md for what has")


def _bundle(settings: Settings) -> StartBundle | None:
    """The bundle that this start was given."""
    settings.get("bundle-verify")  # has no effect of its own, which is no news to anybody
    if not settings.get("bundle"):
        return None
    from minikube.cluster.bundles import StartBundle  # it can download images: 50 ms of imports

    return StartBundle(settings)


def _bring_up(boot: Boot, driver: Driver, settings: Settings, report: Report, *, before: str) -> None:
    upgrade = before not in ("", boot.versions.kubernetes)
    if upgrade:
        report.info(
            f'Upgrading "{boot.config.Name}" from Kubernetes {before} to {boot.versions.kubernetes}: its data stays', style="celebrate"
        )
    running = driver.state() == "Running"
    if running and (thawed := wake(driver.node())):
        report.info(f'"{boot.config.Name}" was paused: unpaused {thawed} containers', style="unpause")
    fits = running and boot.fits()
    if fits:
        debug(f"The running cluster does not require reconfiguration: {driver.node().address}")
    resized = running and not fits and boot.change_limits()
    if running and not fits and not resized:
        if not upgrade:
            report.info(
                f'Restarting "{boot.config.Name}": its configuration has changed, or its last start was interrupted', style="restarting"
            )
        driver.stop()
        running = False
    if not running:
        # Left by a machine that was switched off before the moment came.
        scheduledstop.end_waiting(boot.config.Name)
        boot.config.ScheduledStop = None
    if resized:
        limits = driver.limits()
        cpus, memory = limits.cpus or "no limit", f"{limits.memory_mb}MB" if limits.memory_mb else "no limit"
        report.info(f'Changed the limits of "{boot.config.Name}" while it runs: CPUs={cpus}, Memory={memory}', style="check")
    graph = boot.graph_of_resized() if resized else boot.graph_of_running() if running else boot.graph()
    try:
        graph.run()
    except BaseException as error:
        if isinstance(error, Reason):
            error.evidence = error.evidence or last_words(driver)
        if isinstance(error, KeyboardInterrupt):
            _say_what_is_left(driver, boot.config.Name, report)
        if settings.get("delete-on-failure") and not isinstance(error, KeyboardInterrupt):
            report.warning(f'Deleting "{boot.config.Name}" because of --delete-on-failure')
            driver.delete()
            profile_files.delete(boot.config.Name)
        raise
    finally:
        if settings.get("timing"):
            report.info(steps.table(graph))


def _say_what_is_left(driver: Driver, profile: str, report: Report) -> None:
    if driver.state() == "Running":
        report.warning(f'The node of "{profile}" is still running. To stop it: minikube stop -p {profile}')
    report.warning(
        f'The files of "{profile}" are kept. To go on: minikube start -p {profile}. To remove them: minikube delete -p {profile}'
    )


def _done(config: ClusterConfig, seconds: float) -> str:
    name, namespace = config.Name, config.KubernetesConfig.Namespace
    if config.KeepContext:
        return f"To connect to this cluster, use:  --context={name} ({seconds:.1f} s)"
    return f'Done! kubectl is now configured to use "{name}" cluster and "{namespace}" namespace by default ({seconds:.1f} s)'


def _prefix(profile: str) -> str:
    return "" if profile == profile_files.DEFAULT_PROFILE else f"[{profile}] "
