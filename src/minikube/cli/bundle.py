"""`minikube bundle`."""

from __future__ import annotations

from minikube.cli.command import Call, Command
from minikube.cli.startflags import DOWNLOADS
from minikube.output.reason import Reason
from minikube.profiles.settings import Flag

TYPE_CHECKING = False  # typing costs half of Python's own start
if TYPE_CHECKING:
    from pathlib import Path

    from minikube.cluster.bundles import Inspected

_VERIFY = Flag("verify", help="Refuse the bundle unless a key of this file signed it: a public SSH key, or a file of allowed signers.")


def _create(call: Call) -> None:
    from pathlib import Path

    from minikube.cluster import bundles

    settings = call.settings
    path, versions = bundles.create(
        settings,
        call.report,
        output=Path(settings.get("output")) if settings.get("output") else None,
        key=Path(settings.get("sign")) if settings.get("sign") else None,
    )
    size = f"{path.stat().st_size / 1e6:.0f}"
    call.report.info(f"{path} ({size} MB) has everything for Kubernetes {', '.join(versions)}", style="check")
    call.report.info(f"On the other machine: minikube start --bundle={path.name}", style="tip")


def _import(call: Call) -> None:
    from minikube.cluster import bundles

    path = _file(call)
    manifest, imported = bundles.bring_in(path, _trusted(call), call.report.progress)
    call.report.info(f"{len(imported.new)} components were imported, {len(imported.present)} were there already", style="check")
    for version in bundles.unusable(manifest):
        call.report.warning(f"Kubernetes {version} of this bundle was made by minikube v{manifest.minikube}, this version cannot use it")
    if manifest.images:
        call.report.info(f"Its images of your own are loaded by: minikube start --bundle={path}", style="tip")


def _inspect(call: Call) -> None:
    from minikube.cluster import bundles
    from minikube.output.progress import silent

    path = _file(call)
    output = call.output("text", "json")
    found = bundles.inspect(path, _trusted(call), silent() if output == "json" else call.report.progress)
    if output == "json":
        import json

        print(json.dumps(_facts(found), indent=2))
    else:
        print(_text(found))


def _facts(found: Inspected) -> dict[str, object]:
    manifest = found.manifest
    entries = [
        {"name": entry.name, "digest": entry.digest, "what": entry.what, "files": len(entry.files), "bytes": entry.size}
        for entry in manifest.entries
    ]
    return {
        "format": manifest.format,
        "minikube": manifest.minikube,
        "architecture": manifest.architecture,
        "kubernetes": manifest.kubernetes,
        "signedWith": found.signed_with,
        "verifiedAs": found.signer.name if found.signer else "",
        "bytes": sum(manifest.blobs.values()),
        "entries": entries,
        "images": [{"names": image.names, "digest": image.digest} for image in manifest.images],
    }


def _text(found: Inspected) -> str:
    from minikube.cli.table import boxed

    manifest = found.manifest
    signed = "no"
    if found.signed_with:
        signed = f"with {found.signed_with}, " + (f"verified as {found.signer.name}" if found.signer else "not verified (--verify does)")
    images = [name for image in manifest.images for name in image.names or [image.entry]]
    head = [
        f"Made by:      minikube v{manifest.minikube} for {manifest.architecture}",
        f"Kubernetes:   {', '.join(manifest.kubernetes)}",
        f"Your images:  {', '.join(images) or 'none'}",
        f"Signed:       {signed}",
        f"Content:      {sum(manifest.blobs.values()) / 1e6:.1f} MB in {len(manifest.blobs)} files, all as the manifest says",
    ]
    rows = [[entry.what, entry.digest[:12], str(len(entry.files)), f"{entry.size / 1e6:.1f}"] for entry in manifest.entries]
    return "\n".join([*head, boxed(["COMPONENT", "DIGEST", "FILES", "MB"], rows)])


def _file(call: Call) -> Path:
    from pathlib import Path

    if not call.settings.arguments:
        raise Reason("MK_USAGE", f"{call.path} needs the file of a bundle", advice=f"{call.path} FILE")
    return Path(call.settings.arguments[0])


def _trusted(call: Call) -> Path | None:
    from pathlib import Path

    value = str(call.settings.get("verify"))
    return Path(value) if value else None


COMMANDS = {
    "bundle": Command(
        "bundle",
        "Everything a start needs in one file, for machines without a network",
        subcommands=(
            Command(
                "create",
                "Write a bundle",
                _create,
                flags=(
                    Flag("kubernetes-version", "strings", help="Versions of Kubernetes to put in; the default one if left out."),
                    Flag(
                        "container-runtime",
                        "strings",
                        short="c",
                        help="Runtimes that clusters from this bundle may use; containerd if left out.",
                    ),
                    Flag("addon", "stringArray", help="An addon to put in, repeatable; those that every cluster has are in any bundle."),
                    Flag(
                        "image",
                        "stringArray",
                        help="An image of your own, loaded at start: an archive (docker save), or a name that docker, podman, the "
                        "cluster or a registry knows. Repeatable.",
                    ),
                    Flag("output", short="o", help="The file to write. Compressed if its name ends in .gz."),
                    Flag("sign", help="Sign with this SSH private key."),
                    *DOWNLOADS,
                ),
                max_arguments=0,
                details="Writes one file with every component of the given versions. What is missing in the store is made first, from "
                "where the profile's cluster came from if there is one. The same store gives the same bytes.",
                examples=(
                    "minikube bundle create",
                    "minikube bundle create --kubernetes-version=v1.37,v1.36 --image=app.tar -o lab.tar.gz",
                    "minikube bundle create --sign ~/.ssh/id_ed25519 -o lab.tar",
                ),
            ),
            Command(
                "import",
                "Put the components of a bundle into the store",
                _import,
                flags=(_VERIFY,),
                arguments="FILE",
                max_arguments=1,
                details="Every file is checked against the bundle's manifest. Afterwards a start needs no network. Interrupted, it goes on "
                "where it stopped.",
                examples=("minikube bundle import lab.tar", "minikube bundle import lab.tar --verify allowed_signers"),
            ),
            Command(
                "inspect",
                "Check a bundle and show what is in it",
                _inspect,
                flags=(
                    _VERIFY,
                    Flag("output", short="o", default="text", help="text or json.", choices=("text", "json")),
                ),
                arguments="FILE",
                max_arguments=1,
                examples=("minikube bundle inspect lab.tar",),
            ),
        ),
    )
}
