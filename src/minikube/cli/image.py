"""`minikube image`."""

from __future__ import annotations

from minikube.cli import checks
from minikube.cli.command import Call, Command
from minikube.profiles.settings import Flag

_WHY = "it needs a builder in the node; until then: build with docker or podman, then minikube image load"
_FORMS = ("short", "table", "json", "yaml")
_DAEMON = Flag("daemon", "bool", help="From, or to, docker or podman on this machine.")
_REMOTE = Flag("remote", "bool", help="From, or to, a registry.")


def _names(call: Call, missing: str) -> list[str]:
    if not call.settings.arguments:
        from minikube.output.reason import Reason

        raise Reason("MK_USAGE", missing)
    return call.settings.arguments


def _load(call: Call) -> None:
    settings = call.settings
    sources = _names(call, "Please provide an image in your local daemon to load into minikube via <minikube image load IMAGE_NAME>")
    profile = checks.existing_profile(call)
    from minikube.cluster.images import load

    wishes = {name: bool(settings.get(name)) for name in ("daemon", "remote", "pull", "overwrite")}
    load(profile, sources, call.report, **wishes)


def _list(call: Call) -> None:
    form = str(call.settings.get("format")).lower()
    if form not in _FORMS:
        from minikube.output.reason import Reason

        raise Reason("MK_USAGE", f"--format cannot be {form!r}", advice=f"Give one of: {', '.join(_FORMS)}.")
    profile = checks.existing_profile(call)
    from minikube.cli.imagelist import rendered
    from minikube.cluster.images import listing

    print(rendered(listing(profile), form))


def _pull(call: Call) -> None:
    names = _names(call, "Please provide an image to pull via <minikube image pull IMAGE_NAME>")
    profile = checks.existing_profile(call)
    from minikube.cluster.images import pull

    pull(profile, names, call.report)


def _push(call: Call) -> None:
    names = _names(call, "Please provide an image to push via <minikube image push IMAGE_NAME>")
    profile = checks.existing_profile(call)
    from minikube.cluster.images import push

    push(profile, names, call.report)


def _remove(call: Call) -> None:
    names = _names(call, "Please provide an image to remove via <minikube image rm IMAGE_NAME>")
    profile = checks.existing_profile(call)
    from minikube.cluster.images import remove

    remove(profile, names, call.report)


def _save(call: Call) -> None:
    words = _names(call, "Please provide an image in the container runtime to save from minikube via <minikube image save IMAGE_NAME>")
    profile = checks.existing_profile(call)
    from minikube.cluster import imagecache, images

    if len(words) > 1:
        images.save(profile, words[0], words[1], call.report)
    else:
        imagecache.save(profile, words[0], call.report, daemon=bool(call.settings.get("daemon")), remote=bool(call.settings.get("remote")))


def _tag(call: Call) -> None:
    if len(call.settings.arguments) != 2:
        from minikube.output.reason import Reason

        raise Reason("MK_USAGE", "Please provide source and target image")
    profile = checks.existing_profile(call)
    from minikube.cluster.images import tag

    tag(profile, *call.settings.arguments)


COMMANDS = {
    "image": Command(
        "image",
        "Manage images",
        subcommands=(
            Command(
                "build",
                "Build a container image in minikube",
                flags=(
                    Flag("tag", help="Name of the image.", short="t"),
                    Flag("file", help="Path of the Dockerfile.", short="f"),
                    Flag("push", "bool", help="Push the image."),
                    Flag("build-env", "stringArray", help="Environment of the build (key=value)."),
                    Flag("build-opt", "stringArray", help="Options of the build (key=value)."),
                    Flag("node", help="The node to build on.", short="n"),
                    Flag("all", "bool", help="Build on all nodes."),
                ),
                arguments="PATH | URL | -",
                unbuilt=_WHY,
            ),
            Command(
                "load",
                "Load an image into minikube",
                _load,
                flags=(
                    _DAEMON,
                    _REMOTE,
                    Flag("pull", "bool", help="Let the cluster pull it from its registry, and look nowhere else."),
                    Flag("overwrite", "bool", True, "Replace an image of the same name."),
                ),
                arguments="IMAGE | ARCHIVE | -",
                details="Loads images into the cluster: archives of docker or podman, OCI archives and directories, images of docker "
                "or podman on this machine, or of a registry. Layers that the cluster has are not moved again.",
                examples=("minikube image load app.tar", "minikube image load app:1", "docker save app:1 | minikube image load -"),
            ),
            Command(
                "ls",
                "List images",
                _list,
                flags=(Flag("format", default="short", help="short, table, json or yaml.", choices=_FORMS),),
                aliases=("list",),
                max_arguments=0,
                examples=("minikube image ls", "minikube image ls --format table"),
            ),
            Command(
                "pull",
                "Pull images",
                _pull,
                arguments="IMAGE ...",
                details="Has the cluster fetch images from their registries.",
                examples=("minikube image pull busybox:1.37",),
            ),
            Command(
                "push",
                "Push images",
                _push,
                arguments="IMAGE ...",
                details="Sends images of the cluster to their registries.",
                examples=("minikube image push registry.example/team/app:1",),
            ),
            Command(
                "rm",
                "Remove one or more images",
                _remove,
                aliases=("remove", "unload"),
                arguments="IMAGE ...",
                details="Removes images by name or id. An image with several names loses only the one that is given.",
                examples=("minikube image rm app:1",),
            ),
            Command(
                "save",
                "Save an image from minikube",
                _save,
                flags=(_DAEMON, _REMOTE),
                arguments="IMAGE [ARCHIVE | -]",
                max_arguments=2,
                details="Writes an image of the cluster to an archive or to stdout. Without either, it goes to the cache of images, "
                "and with --daemon on to docker or podman on this machine.",
                examples=("minikube image save app:1 app.tar", "minikube image save app:1 - | docker load"),
            ),
            Command(
                "tag",
                "Tag images",
                _tag,
                arguments="SOURCE TARGET",
                details="Gives an image of the cluster one more name.",
                examples=("minikube image tag app:1 registry.example/team/app:1",),
            ),
        ),
    )
}
