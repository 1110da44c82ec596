"""Every kind of reason upstream knows: its exit code, and advice where one sentence helps."""

from __future__ import annotations


class Kind:
    """What is the same for every reason with one id."""

    __slots__ = ("advice", "exit_code", "url")

    def __init__(self, exit_code: int, advice: str = "", url: str = "") -> None:
        self.exit_code, self.advice, self.url = exit_code, advice, url


# Tens say where (10 program, 20 resources, 30 host, 40 internet, 50 driver, 60 provider, 70 local network, 80 guest, 90 runtime,
# 100 control plane, 110 service); the last digit says how (0 error, 1 conflict, 2 timeout, 3 not running, 4 usage, 5 not found,
# 6 unsupported, 7 permission, 8 configuration, 9 unavailable).
_IDS_BY_EXIT_CODE: dict[int, str] = {
    # the program: an error of its own
    10: (
        "MK_NEW_APICLIENT MK_ADDON_DISABLE MK_ADDON_ENABLE MK_ADD_CONFIG MK_BOOTSTRAPPER MK_CACHE_LIST MK_CACHE_LOAD "
        "MK_COMMAND_RUNNER MK_START_NERDCTLD MK_COMPLETION MK_CONFIG_SET MK_CONFIG_UNSET MK_CONFIG_VIEW MK_DEL_CONFIG "
        "MK_DOCKER_SCRIPT MK_BIND_FLAGS MK_FORMAT_USAGE MK_GENERATE_DOCS MK_JSON_MARSHAL MK_LIST_CONFIG MK_LOG_FOLLOW "
        "MK_NEW_RUNTIME MK_OUTPUT_USAGE MK_RUNTIME MK_ENV_SCRIPT MK_SHELL_DETECT MK_STATUS_JSON MK_STATUS_TEXT MK_VIEW_EXEC "
        "MK_VIEW_TMPL MK_YAML_MARSHAL MK_SEMVER_PARSE MK_DAEMONIZE"
    ),
    # the program: a conflict
    11: "MK_INTERRUPTED MK_ADDON_ENABLE_PAUSED MK_ADDON_DISABLE_PAUSED MK_RESERVED_PROFILE SVC_ADDON_NOT_ENABLED",
    14: "MK_PATCH_NOT_FOUND MK_USAGE MK_USAGE_NO_PROFILE",  # the program: usage
    # the program: something it needs was not found
    15: (
        "MK_CREDENTIALS_NOT_FOUND MK_CREDENTIALS_NOT_NEEDED NOT_FOUND_CRI_DOCKERD NOT_FOUND_DOCKERD NOT_FOUND_CNI_PLUGINS "
        "NOT_FOUND_SOCKET_VMNET NOT_FOUND_VMNET_HELPER"
    ),
    16: "MK_WRONG_BINARY_WSL MK_UNIMPLEMENTED",  # the program: unsupported here
    18: "NOT_CONFIGURED_VMNET_HELPER",  # the program: configuration
    20: "RSRC_INVALID_HYPERV_MEMORY",  # resources
    # resources: memory
    23: ("RSRC_INSUFFICIENT_REQ_MEMORY RSRC_INSUFFICIENT_SYS_MEMORY RSRC_INSUFFICIENT_CONTAINER_MEMORY RSRC_DOCKER_MEMORY"),
    26: "RSRC_DOCKER_STORAGE RSRC_PODMAN_STORAGE RSRC_INSUFFICIENT_STORAGE",  # resources: storage
    29: "RSRC_INSUFFICIENT_CORES RSRC_DOCKER_CORES",  # resources: cores
    # the host
    30: ("HOST_BROWSER HOST_DEL_CACHE HOST_KILL_MOUNT_PROC HOST_KUBECTL_PROXY HOST_MOUNT_PID HOST_PATH_STAT HOST_PURGE"),
    35: "HOST_PATH_MISSING",  # the host: not found
    36: "HOST_UNSUPPORTED",  # the host: unsupported
    37: "HOST_HOME_MKDIR HOST_HOME_CHOWN HOST_HOME_PERMISSION",  # the host: permission
    38: "HOST_CONFIG_LOAD HOST_CURRENT_USER HOST_KUBECONFIG_UPDATE HOST_KUBECONFIG_DELETE_CTX HOST_SAVE_PROFILE",  # the host: configuration
    # the internet
    40: ("INET_CACHE_BINARIES INET_CACHE_KUBECTL INET_CACHE_TAR INET_LICENSES INET_REPO INET_REPOS_UNAVAILABLE K8S_FAIL_CONNECT"),
    48: "INET_VERSION_EMPTY",  # the internet: configuration
    49: "INET_VERSION_UNAVAILABLE",  # the internet: unavailable
    50: "DRV_CP_ENDPOINT DRV_PORT_FORWARD DRV_AUX_NOT_HEALTHY",  # the driver
    51: "DRV_UNSUPPORTED_MULTINODE ENV_DRIVER_CONFLICT",  # the driver: conflict
    55: "DRV_NOT_FOUND DRV_NOT_DETECTED DRV_AUX_NOT_FOUND DRV_NOT_HEALTHY DRV_DOCKER_NOT_RUNNING",  # the driver: not found
    56: "DRV_UNSUPPORTED DRV_UNSUPPORTED_OS DRV_UNSUPPORTED_PROFILE",  # the driver: unsupported
    57: "DRV_AS_ROOT DRV_NEEDS_ROOT",  # the driver: permission
    65: "PROVIDER_NOT_FOUND PROVIDER_UNAVAILABLE",  # the provider: not found
    70: "IF_HOST_IP IF_MOUNT_IP IF_MOUNT_PORT IF_SSH_CLIENT IF_DEDICATED_NETWORK IF_BOOTPD_FIREWALL",  # the local network
    # the guest
    80: (
        "GUEST_CACHE_LOAD GUEST_CERT GUEST_DELETION GUEST_IMAGE_LIST GUEST_IMAGE_LOAD GUEST_IMAGE_REMOVE GUEST_IMAGE_PULL "
        "GUEST_IMAGE_BUILD GUEST_IMAGE_SAVE GUEST_IMAGE_PUSH GUEST_IMAGE_TAG GUEST_LOAD_HOST GUEST_MOUNT "
        "GUEST_MOUNT_COULD_NOT_CONNECT GUEST_NODE_ADD GUEST_NODE_DELETE GUEST_NODE_PROVISION GUEST_NODE_START GUEST_PAUSE "
        "GUEST_PROFILE_DELETION GUEST_PROVISION GUEST_PROVISION_CONTAINER_EXITED GUEST_START GUEST_STATUS GUEST_UNPAUSE "
        "GUEST_CHECK_PAUSED"
    ),
    81: "GUEST_MOUNT_CONFLICT GUEST_DRIVER_MISMATCH ENV_MULTINODE_CONFLICT",  # the guest: conflict
    82: "GUEST_STOP_TIMEOUT",  # the guest: timeout
    85: "GUEST_NODE_RETRIEVE",  # the guest: not found
    86: "GUEST_MISSING_CONNTRACK GUEST_MISSING_CRICTL",  # the guest: unsupported
    88: "GUEST_CP_CONFIG",  # the guest: configuration
    90: "RUNTIME_ENABLE RUNTIME_CACHE SSH_AGENT_START",  # the runtime
    93: "K8S_INSTALL_FAILED_CONTAINER_RUNTIME_NOT_RUNNING",  # the runtime: not running
    99: "ENV_PODMAN_UNAVAILABLE",  # the runtime: unavailable
    100: "K8S_INSTALL_FAILED",  # the control plane
    106: "K8S_OLD_UNSUPPORTED K8S_NEW_UNSUPPORTED K8S_DOWNGRADE_UNSUPPORTED",  # the control plane: unsupported
    109: "MK_K8S_CLIENT",  # the control plane: unavailable
    110: "SVC_LIST SVC_TUNNEL_START SVC_TUNNEL_STOP",  # a service
    111: "TUNNEL_ALREADY_RUNNING",  # a service: conflict
    112: "SVC_CHECK_TIMEOUT SVC_TIMEOUT SVC_URL_TIMEOUT",  # a service: timeout
    115: "SVC_UNREACHABLE SVC_NOT_FOUND",  # a service: not found
    116: "SVC_ADDON_UNSUPPORTED",  # a service: unsupported
}

# Beside upstream's kinds: ids it gives to problems it recognises, and ids for what only exists here.
_FURTHER_IDS_BY_EXIT_CODE: dict[int, str] = {
    15: "NOT_FOUND_BUILD_TOOLS NOT_FOUND_GO",
    20: "RSRC_PROCESS_LIMIT",
    23: "RSRC_OUT_OF_MEMORY",
    26: "GUEST_PROVISION_NOSPACE",
    30: "HOST_BUNDLE_DAMAGED",
    36: (
        "HOST_BUNDLE_UNSUPPORTED HOST_CGROUP_NOT_SUPPORTED HOST_CGROUP_V1 HOST_PIDS_CGROUP HOST_NO_IPV6 HOST_NFTABLES_NOT_SUPPORTED "
        "HOST_OVERLAY_NOT_SUPPORTED"
    ),
    37: "HOST_BUNDLE_UNTRUSTED HOST_KUBECONFIG_PERMISSION HOST_MISSING_CAPABILITY HOST_NOEXEC HOST_READ_ONLY",
    38: "HOST_INOTIFY_LIMIT HOST_KEYRING_LIMIT HOST_CLOCK_SKEW",
    40: "INET_BAD_CHECKSUM INET_BAD_SIGNATURE INET_PIN_CHANGED",
    41: "INET_TLS_OVERSIZED",
    42: "INET_PULL_TIMEOUT INET_DOWNLOAD_TIMEOUT",
    45: "INET_DEFAULT_ROUTE INET_IMAGE_NOT_FOUND INET_NOT_FOUND",
    47: "INET_PROXY_AUTH INET_NOT_ALLOWED",
    48: "INET_LOOKUP_HOST INET_PROXY_CONFUSION INET_NOT_TLS INET_PROXY_503 INET_REGISTRY_CERT INET_UNTRUSTED_CERT",
    49: "INET_RESET_BY_PEER INET_RATE_LIMIT INET_PROXY_UNREACHABLE INET_DOWNLOAD_FAILED",
    71: "IF_ROUTE_CLASH",
    81: "GUEST_PORT_IN_USE",
    86: "GUEST_INCORRECT_ARCH",
    88: "GUEST_UNSIGNED_CERT GUEST_CERT_EXPIRED",
    100: "K8S_ETCD_CORRUPT K8S_ETCD_NO_SPACE",
    102: "K8S_APISERVER_TIMEOUT",
    106: "K8S_UPGRADE_UNSUPPORTED",
    108: "K8S_INVALID_DNS_DOMAIN K8S_INVALID_CERT_HOSTNAME K8S_UNKNOWN_FEATURE_GATE K8S_UNKNOWN_FLAG K8S_INVALID_FLAG_VALUE",
    109: "K8S_KUBELET_NOT_RUNNING",
}
# Reasons that quote what another program said: output/knownproblems.py may know more. All others already know their cause.
QUOTING = frozenset(
    "MK_COMMAND_RUNNER MK_INTERNAL MK_COMPONENT_BUILD MK_NEW_RUNTIME MK_RUNTIME HOST_PATH_STAT HOST_KUBECONFIG_UPDATE GUEST_PROVISION "
    "GUEST_START GUEST_CERT GUEST_NODE_START GUEST_NODE_PROVISION GUEST_NODE_ADD GUEST_MOUNT GUEST_IMAGE_PULL GUEST_IMAGE_LOAD "
    "GUEST_IMAGE_BUILD GUEST_IMAGE_PUSH GUEST_CACHE_LOAD IF_DEDICATED_NETWORK INET_CACHE_BINARIES INET_CACHE_KUBECTL "
    "INET_CACHE_TAR INET_REPO RUNTIME_CACHE RUNTIME_ENABLE K8S_INSTALL_FAILED K8S_INSTALL_FAILED_CONTAINER_RUNTIME_NOT_RUNNING "
    "K8S_FAIL_CONNECT MK_K8S_CLIENT".split()
)

_CHECK_NETWORK = "Check the network and the proxy settings (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), then run the command again."
_BEGIN_AFRESH = "Look at `minikube logs --last-start-only`; `minikube delete` followed by `minikube start` begins afresh."

_ADVICE: dict[str, str] = {
    "MK_USAGE_NO_PROFILE": "You can create one using 'minikube start'.",
    "MK_INTERRUPTED": "Run the same command again: it goes on from what is already done.",
    "MK_UNIMPLEMENTED": "docs/compatibility.md lists what is not built yet.",
    "MK_RESERVED_PROFILE": "Choose another name for the profile.",
    "MK_FORMAT_USAGE": "Check the template: fields are written {{.Name}}.",
    "MK_STATUS_TEXT": "Check the template given to --format: fields are written {{.Host}}.",
    "MK_VIEW_TMPL": "Check the template given to --format: the fields are {{.ConfigKey}} and {{.ConfigValue}}.",
    "MK_VIEW_EXEC": "Check the template given to --format: the fields are {{.ConfigKey}} and {{.ConfigValue}}.",
    "MK_CONFIG_SET": "`minikube config --help` lists the keys that can be set.",
    "MK_CONFIG_UNSET": "`minikube config --help` lists the keys that can be set.",
    "MK_ADDON_ENABLE_PAUSED": "Run `minikube unpause` first.",
    "MK_ADDON_DISABLE_PAUSED": "Run `minikube unpause` first.",
    "MK_K8S_CLIENT": "See whether the cluster runs: minikube status",
    "MK_WRONG_BINARY_WSL": "Inside WSL, use the Linux program.",
    "NOT_FOUND_CRI_DOCKERD": "Install cri-dockerd, or leave out --container-runtime: containerd comes with minikube.",
    "NOT_FOUND_DOCKERD": "Install docker, or leave out --container-runtime: containerd comes with minikube.",
    "NOT_FOUND_CNI_PLUGINS": "Install the CNI plugins into /opt/cni/bin, or use the native driver, which brings its own.",
    "NOT_FOUND_SOCKET_VMNET": "Install socket_vmnet, or say where it is with --socket-vmnet-path.",
    "NOT_FOUND_VMNET_HELPER": "Install vmnet-helper, or choose another network with --network.",
    "NOT_CONFIGURED_VMNET_HELPER": "Allow vmnet-helper to run without a password in sudoers, or choose another network with --network.",
    "RSRC_INSUFFICIENT_CORES": "Give the cluster fewer CPUs (--cpus), or use a machine with two cores or more; --force starts anyway.",
    "RSRC_INSUFFICIENT_REQ_MEMORY": "Ask for more memory, for example --memory=2g; --force starts anyway.",
    "RSRC_INSUFFICIENT_SYS_MEMORY": "Close other programs, or ask for less with --memory.",
    "RSRC_INSUFFICIENT_CONTAINER_MEMORY": "Ask for less with --memory, or give the container engine more.",
    "RSRC_INSUFFICIENT_STORAGE": "Free some space, then run the command again: it goes on from what is already done.",
    "RSRC_DOCKER_STORAGE": "Free space with `docker system prune`, then run the command again.",
    "RSRC_PODMAN_STORAGE": "Free space with `podman system prune`, then run the command again.",
    "RSRC_DOCKER_CORES": "Give the container engine two CPUs or more in its settings.",
    "RSRC_DOCKER_MEMORY": "Give the container engine more memory in its settings.",
    "HOST_HOME_PERMISSION": "Make it yours (sudo chown -R $USER ~/.minikube), or set MINIKUBE_HOME to a directory you may write to.",
    "HOST_HOME_CHOWN": "Make ~/.minikube yours again: sudo chown -R $USER ~/.minikube",
    "HOST_HOME_MKDIR": "Set MINIKUBE_HOME to a directory you may write to.",
    "HOST_CONFIG_LOAD": "Repair the file (it has not been touched), or move it away.",
    "HOST_KUBECONFIG_UPDATE": "Check that your kubeconfig is valid YAML and writable, then run: minikube update-context",
    "HOST_KUBECONFIG_DELETE_CTX": "Check that your kubeconfig is valid YAML and writable.",
    "HOST_BROWSER": "Open the address printed above yourself.",
    "HOST_PURGE": "Remove the directory by hand, then run the command again.",
    "PROVIDER_NOT_FOUND": "Install what the driver needs, or choose another driver with --driver.",
    "HOST_UNSUPPORTED": "`minikube doctor` lists what this machine lacks.",
    "HOST_CGROUP_NOT_SUPPORTED": "`minikube doctor` says what is wrong with the control groups of this machine.",
    "HOST_SAVE_PROFILE": "Check that there is space, and that the profile's directory is yours to write to.",
    "DRV_NOT_FOUND": "Choose a driver with --driver.",
    "DRV_NOT_DETECTED": "Choose a driver with --driver, for example: minikube start --driver=native",
    "DRV_NOT_HEALTHY": "Choose another driver with --driver, for example: minikube start --driver=native",
    "DRV_DOCKER_NOT_RUNNING": "Start docker, or choose another driver, for example: minikube start --driver=native",
    "DRV_UNSUPPORTED_OS": "Choose another driver with --driver.",
    "DRV_UNSUPPORTED_MULTINODE": "Leave out --nodes and --ha.",
    "DRV_NEEDS_ROOT": "Run the command as root: sudo -E minikube start",
    "DRV_AS_ROOT": "Run the command as an ordinary user, or add --force.",
    "DRV_CP_ENDPOINT": "Make the cluster anew: `minikube delete`, then `minikube start`.",
    "DRV_AUX_NOT_FOUND": "Install the driver's program and put it on the PATH, or choose another driver with --driver.",
    "GUEST_DRIVER_MISMATCH": "Delete the cluster first (minikube delete), or start it with the driver it was made with.",
    "GUEST_NODE_RETRIEVE": "`minikube node list` shows the nodes.",
    "GUEST_PROVISION": _BEGIN_AFRESH,
    "GUEST_START": _BEGIN_AFRESH,
    "GUEST_STATUS": "`minikube logs` may say more; `minikube start` puts the cluster right in most cases.",
    "GUEST_STOP_TIMEOUT": "Run `minikube stop` again; `minikube delete` removes the cluster in any case.",
    "GUEST_CERT": "`minikube delete` followed by `minikube start` makes new certificates.",
    "GUEST_MISSING_CONNTRACK": "Install conntrack with your package manager.",
    "GUEST_MISSING_CRICTL": "Install crictl, or use the native driver, which brings its own.",
    "IF_DEDICATED_NETWORK": "`minikube doctor` looks at what this machine's network lacks for a cluster.",
    "IF_BOOTPD_FIREWALL": "Allow bootpd through the firewall of macOS, or delete the cluster and start it with another driver.",
    "IF_SSH_CLIENT": "See whether the node answers: minikube status",
    "INET_CACHE_BINARIES": _CHECK_NETWORK,
    "INET_CACHE_KUBECTL": _CHECK_NETWORK,
    "INET_CACHE_TAR": _CHECK_NETWORK,
    "INET_REPO": _CHECK_NETWORK,
    "INET_DOWNLOAD_FAILED": _CHECK_NETWORK,
    "INET_DOWNLOAD_TIMEOUT": _CHECK_NETWORK,
    "INET_LOOKUP_HOST": _CHECK_NETWORK,
    "INET_PROXY_UNREACHABLE": _CHECK_NETWORK,
    "INET_VERSION_UNAVAILABLE": _CHECK_NETWORK,
    "SVC_NOT_FOUND": "`minikube service list` shows the services.",
    "SVC_UNREACHABLE": "Wait until a pod of the service runs: kubectl get pods",
    "SVC_ADDON_UNSUPPORTED": "`minikube addons list` shows the addons.",
    "SVC_ADDON_NOT_ENABLED": "Enable it first: minikube addons enable NAME",
    "TUNNEL_ALREADY_RUNNING": "End the other tunnel first.",
    "K8S_INSTALL_FAILED": "Look at `minikube logs`; `minikube delete` followed by `minikube start` begins afresh.",
    "K8S_OLD_UNSUPPORTED": "Leave out --kubernetes-version, or choose a newer one.",
    "K8S_NEW_UNSUPPORTED": "Leave out --kubernetes-version, or choose an older one.",
    "K8S_DOWNGRADE_UNSUPPORTED": "Delete the cluster first, start a second one with -p, or start this one with its own version.",
    "K8S_FAIL_CONNECT": _CHECK_NETWORK,
    "RUNTIME_ENABLE": "Look at `minikube logs`; --container-runtime chooses another runtime.",
}

KINDS: dict[str, Kind] = {
    id: Kind(code, _ADVICE.get(id, ""))
    for table in (_IDS_BY_EXIT_CODE, _FURTHER_IDS_BY_EXIT_CODE)
    for code, ids in table.items()
    for id in ids.split()
}

# A driver's provider has ids with its name in the middle.
_PROVIDER_ENDINGS = {"_NOT_RUNNING": 63, "_NOT_FOUND": 65, "_OBSOLETE": 66, "_ERROR": 69}
_UNKNOWN = Kind(1)


def kind_of(id: str) -> Kind:
    """The kind behind an id; one that nobody knows ends with 1."""
    if id in KINDS:
        return KINDS[id]
    if id.startswith("PROVIDER_"):
        return next((Kind(code) for ending, code in _PROVIDER_ENDINGS.items() if id.endswith(ending)), _UNKNOWN)
    return _UNKNOWN
