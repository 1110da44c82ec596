"""What goes wrong with a plugin, as reasons for the person at the keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from minikube.drivers.plugin.client import API_VERSION, WrongVersion
from minikube.drivers.plugin.netrpc import RemoteError
from minikube.drivers.plugin.process import PluginBroken
from minikube.output.debuglog import debug
from minikube.output.reason import Reason

_MORE = "`minikube logs` and the files in the home's logs directory have everything the driver said."


@contextmanager
def explained(name: str, id: str, what: str, *, advice: str = "") -> Iterator[None]:
    """Turn whatever a plugin does wrong meanwhile into a reason: `The driver 'NAME' <what>: <its own words>`."""
    try:
        yield
    except WrongVersion as error:
        raise Reason(
            "DRV_UNSUPPORTED",
            f"The driver '{name}' cannot be used: {error}",
            advice=f"Install a docker-machine-driver-{name} that speaks API version {API_VERSION}.",
        ) from error
    except (RemoteError, PluginBroken) as error:
        raise Reason(id, f"The driver '{name}' {what}: {words(error)}", advice=advice or _MORE) from error


def words(error: RemoteError | PluginBroken) -> str:
    """The driver's own sentence. A panic comes with pages of stack, which are for whoever looks for the fault."""
    first, _, rest = str(error).strip().partition("\n")
    if rest:
        debug(rest)
    return first or "it does not say why"
