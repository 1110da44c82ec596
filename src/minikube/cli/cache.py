"""`minikube cache`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

_FORMAT = "{{.CacheImage}}\n"
_DEPRECATED = '"minikube cache" will be deprecated in upcoming versions, please switch to "minikube image load"'


def _add(call: Call) -> None:
    call.report.warning(_DEPRECATED)
    from minikube.cluster.imagecache import add
    from minikube.profiles.glance import exists
    from minikube.profiles.profile import list_profiles

    settings = call.settings
    every = [profile.name for profile in list_profiles().valid] if settings.get("all") else []
    add(settings.arguments, call.report, profiles=every or [name for name in [settings.profile] if "/" not in name and exists(name)])


def _delete(call: Call) -> None:
    from minikube.cluster.imagecache import delete

    delete(call.settings.arguments)


def _list(call: Call) -> None:
    import sys

    from minikube.cluster.imagecache import names
    from minikube.output.gotemplate import TemplateError, render
    from minikube.output.reason import Reason

    for name in names():
        try:
            sys.stdout.write(render(str(call.settings.get("format")), {"CacheImage": name}, name="cache"))
        except TemplateError as error:
            raise Reason("MK_CACHE_LIST", f"Failed to list cached images: {error}") from None


def _reload(call: Call) -> None:
    from minikube.cluster.imagecache import reload

    reload(call.report)


def _pins(call: Call) -> None:
    from minikube.artifacts.pins import Pins
    from minikube.artifacts.store import Store
    from minikube.cli.table import boxed

    output = call.output("table", "json")
    pins = Pins(Store().root)
    found = pins.all()
    if output == "json":
        import json

        print(json.dumps(found, indent=2))
        return
    if not found:
        call.report.info("Nothing was trusted on first use", style="check")
        return
    print(boxed(["WHAT", "DIGEST"], [[name, digest] for name, digest in found.items()]), end="")
    call.report.info(f"Kept in {pins.file}", style="notice")


def _prune(call: Call) -> None:
    from minikube.cli.imagelist import human_size
    from minikube.cli.table import boxed
    from minikube.cluster import pruning
    from minikube.output import console

    settings, report = call.settings, call.report
    dry_run = bool(settings.get("dry-run"))
    agreed = bool(settings.get("yes")) and not dry_run
    if agreed:
        pruning.require_rights()
    items = pruning.survey(report, everything=bool(settings.get("all")))
    going = [item for item in items if not item.needed_for]
    rows = [[item.what, human_size(item.bulk.size), ", ".join(item.needed_for) or "can go"] for item in items]
    print(boxed(["WHAT", "SIZE", "NEEDED FOR"], rows), end="")
    if not going:
        report.info("Nothing can go", style="check")
        return
    space = human_size(pruning.would_free(items))
    if dry_run:
        report.info(f"{space} would come free", style="notice")
        return
    if not agreed:
        if not console.confirmed(f"Remove what can go ({space})?"):
            report.info("Nothing was removed", style="notice")
            return
        pruning.require_rights(adding=("--yes",))
    report.info(f"{human_size(pruning.prune(items, report))} freed", style="deleting")


COMMANDS = {
    "cache": Command(
        "cache",
        "Manage cache for images",
        subcommands=(
            Command(
                "add",
                "Add an image to local cache.",
                _add,
                flags=(Flag("all", "bool", help="Load it into all running clusters, not only this profile's."),),
                arguments="IMAGE ...",
                min_arguments=1,
                details="Keeps images of docker, podman or a registry in the home directory and loads them into the cluster, "
                "now and at every start.",
                examples=("minikube cache add app:1",),
            ),
            Command(
                "delete",
                "Delete an image from the local cache.",
                _delete,
                arguments="IMAGE ...",
                min_arguments=1,
                details="Clusters that have the image keep it.",
                examples=("minikube cache delete app:1",),
            ),
            Command(
                "list",
                "List all available images from the local cache.",
                _list,
                flags=(Flag("format", default=_FORMAT, help="Go template for each image: {{.CacheImage}}."),),
                max_arguments=0,
                examples=("minikube cache list",),
            ),
            Command(
                "pins",
                "List what was trusted on first use",
                _pins,
                flags=(Flag("output", short="o", default="table", help="table or json.", choices=("table", "json")),),
                max_arguments=0,
                details="Shows every file and image of official releases that this machine has used, with the digest it had then. "
                "Nothing else is accepted under that name.",
                examples=("minikube cache pins", "minikube cache pins -o json"),
            ),
            Command(
                "prune",
                "Remove components and images that nothing uses",
                _prune,
                flags=(
                    Flag("dry-run", "bool", help="Only say what is there, who needs it, and what would go."),
                    Flag("yes", "bool", short="y", help="Do not ask."),
                    Flag(
                        "all", "bool", help="Keep only what clusters of this home use, and what runs; the rest is made again when needed."
                    ),
                ),
                max_arguments=0,
                details="Shows the components and caches on this machine with their sizes and what needs them, and removes the rest after "
                "asking. What a cluster uses, running or stopped, is never removed.",
                examples=("minikube cache prune --dry-run", "minikube cache prune --yes"),
            ),
            Command(
                "reload",
                "reload cached images.",
                _reload,
                max_arguments=0,
                details="Loads every image of the cache into every running cluster of this home.",
                examples=("minikube cache reload",),
            ),
        ),
    )
}
