// One binary for all of Kubernetes: upstream's own command packages, unmodified, chosen by the name it is called by. Not kubectl, which
// the host has alone anyway: what it prepares when it is loaded would cost every component 30 ms of CPU and 6 MB.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJob time zones, as upstream's kube-apiserver and kube-controller-manager have

	_ "ahead.minikube.local/kubernetes/memory"
	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func server(build func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(build())) }
}

var commands = map[string]func(){
	"kube-apiserver":          server(apiserver.NewAPIServerCommand),
	"kube-controller-manager": server(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          server(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              server(proxy.NewProxyCommand),
	"kubelet":                 server(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubeadm":                 func() { kubeadmerrors.HandleError(kubeadm.Run()) },
}

func main() {
	run, ok := commands[filepath.Base(os.Args[0])]
	if !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run, ok = commands[filepath.Base(os.Args[0])]
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "kubernetes: call it by one of its names: kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy, kubelet, kubeadm")
		os.Exit(2)
	}
	run()
}
