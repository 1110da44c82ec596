"""Flags that every command takes: minikube's own, and those of Kubernetes' logging library."""

from __future__ import annotations

from minikube.profiles.settings import Flag

LOGGING = "Logging"

GLOBAL_FLAGS: tuple[Flag, ...] = (
    Flag("profile", short="p", default="minikube", help="The name of the cluster to use; several clusters can exist side by side."),
    Flag("bootstrapper", short="b", default="kubeadm", help="What sets Kubernetes up: kubeadm, the only one there is."),
    Flag("user", help="The user to name in the audit log. Defaults to the user of the operating system."),
    Flag("skip-audit", "bool", help="Leave this command out of the audit log."),
    Flag("rootless", "bool", help="Use a driver without root rights."),
    Flag("help", "bool", short="h", help="Help for the command."),
    Flag("alsologtostderr", "bool", help="Show details on stderr too.", section=LOGGING),
    Flag("logtostderr", "bool", help="Show details on stderr.", section=LOGGING),
    Flag("log_file", help="Write details to this file.", section=LOGGING),
    Flag("log_dir", help="Write details to a file in this directory.", section=LOGGING),
    Flag("log_file_max_size", "int", 1800, "Largest size of a log file in megabytes; 0 for no limit.", section=LOGGING),
    Flag("v", "int", short="v", help="How detailed the log is.", section=LOGGING),
    Flag("vmodule", help="Accepted for compatibility.", section=LOGGING),
    Flag("stderrthreshold", default="2", help="Accepted for compatibility.", section=LOGGING),
    Flag("alsologtostderrthreshold", default="0", help="Accepted for compatibility.", section=LOGGING),
    Flag("legacy_stderr_threshold_behavior", "bool", True, "Accepted for compatibility.", section=LOGGING),
    Flag("log_backtrace_at", help="Accepted for compatibility.", section=LOGGING),
    Flag("add_dir_header", "bool", help="Accepted for compatibility.", section=LOGGING),
    Flag("skip_headers", "bool", help="Accepted for compatibility.", section=LOGGING),
    Flag("skip_log_headers", "bool", help="Accepted for compatibility.", section=LOGGING),
    Flag("one_output", "bool", help="Accepted for compatibility.", section=LOGGING),
)
