"""Everything a start on the native driver needs of the host, in the order a person would want to read it."""

from __future__ import annotations

from minikube.drivers.checks import Question
from minikube.drivers.native.checks import components, firewall, isolation, kernel, network, resources, storage

KERNEL, RESOURCES, STORAGE, NETWORK, COMPONENTS = "Kernel", "Resources", "Storage", "Network", "Components"

QUESTIONS = (
    Question("system", KERNEL, "Operating system", kernel.system, "DRV_UNSUPPORTED_OS"),
    Question("root", KERNEL, "Root rights", kernel.root_rights, "DRV_NEEDS_ROOT"),
    Question("kernel", KERNEL, "Kernel version", kernel.version),
    Question("namespaces", KERNEL, "Namespaces", kernel.namespaces),
    Question("user-namespace", KERNEL, "Host's own user namespace", kernel.user_namespace, required=False),
    Question("cgroups", KERNEL, "Control groups", kernel.control_groups, "HOST_CGROUP_NOT_SUPPORTED"),
    Question("capabilities", KERNEL, "Capabilities", kernel.capabilities),
    Question("overlayfs", KERNEL, "Overlay file system", kernel.overlay),
    Question("shifted-root", KERNEL, "User namespaces for nodes", isolation.shifted_root, required=False, quick=False),
    Question("kmsg", KERNEL, "Kernel messages", kernel.messages, required=False),
    Question("cpus", RESOURCES, "Processors", resources.processors, "RSRC_INSUFFICIENT_CORES", quick=False),
    Question("memory", RESOURCES, "Memory", resources.memory, "RSRC_INSUFFICIENT_SYS_MEMORY", quick=False),
    Question("swap", RESOURCES, "Swap", resources.swap, required=False, quick=False),
    Question("inotify", RESOURCES, "File watches (inotify)", resources.inotify_limits, "HOST_INOTIFY_LIMIT"),
    Question("open-files", RESOURCES, "Open files", resources.open_files, required=False, quick=False),
    Question("more-clusters", RESOURCES, "Room for clusters", resources.more_clusters, required=False, quick=False),
    Question("clock", RESOURCES, "Clock", resources.clock, required=False, quick=False),
    Question("home", STORAGE, "Home directory", storage.home_writable, "HOST_HOME_PERMISSION"),
    Question("home-filesystem", STORAGE, "File system of the home", storage.home_filesystem),
    Question("noexec", STORAGE, "Programs may run", storage.executable),
    Question("space", STORAGE, "Free space", storage.space, "RSRC_INSUFFICIENT_STORAGE"),
    Question("inodes", STORAGE, "Free inodes", storage.inodes, "RSRC_INSUFFICIENT_STORAGE"),
    Question("same-filesystem", STORAGE, "Home and store together", storage.together, required=False, quick=False),
    Question("bridge", NETWORK, "Bridges and cables", network.links),
    Question("nftables", NETWORK, "Firewall (nftables)", firewall.nftables),
    Question("network-probe", NETWORK, "Bridge and firewall, tried", firewall.tried, quick=False),
    Question("forwarding", NETWORK, "IP forwarding", network.forwarding),
    Question("other-firewalls", NETWORK, "Other firewalls", firewall.others, required=False, quick=False),
    Question("subnet", NETWORK, "Free subnet", network.subnet, "IF_DEDICATED_NETWORK"),
    Question("resolvers", NETWORK, "Name servers", network.resolvers, required=False, quick=False),
    Question("proxy", NETWORK, "Proxy", network.proxy, required=False, quick=False),
    Question("ipv6", NETWORK, "IPv6", network.ipv6, required=False, quick=False),
    Question("components", COMPONENTS, "Components", components.provided, "NOT_FOUND_BUILD_TOOLS", quick=False),
    Question("kubectl", COMPONENTS, "kubectl", components.kubectl, required=False, quick=False),
)
