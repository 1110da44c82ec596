// One binary for all of Kubernetes: upstream's own command packages, unmodified, chosen by the name it is called by. Not kubectl, which
// the host has alone anyway: what it prepares when it is loaded would cost every component 30 ms of CPU and 6 MB.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"
	_ "time/tzdata" // CronJob time zones, as upstream's kube-apiserver and kube-controller-manager have

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

// How much may be allocated before garbage is collected, in percent of what is in use.
const (
	idle = 25
	busy = 100 // Go's own choice
)

// collectEarlyWhenIdle keeps memory small once a start is over, unless it would have to be collected often.
func collectEarlyWhenIdle() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	time.AfterFunc(15*time.Second, func() {
		debug.SetGCPercent(idle)
		adapt(idle, time.Now())
		debug.FreeOSMemory()
	})
}

// adapt looks at the time between two collections, at the end of each of them.
func adapt(percent int, last time.Time) {
	type mark struct{ _ [64]byte }
	runtime.SetFinalizer(new(mark), func(*mark) {
		wanted := idle
		if time.Since(last) < 5*time.Second {
			wanted = busy
		}
		if wanted != percent {
			debug.SetGCPercent(wanted)
		}
		adapt(wanted, time.Now())
	})
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
	collectEarlyWhenIdle()
	run()
}
