// containerd as upstream's own main program starts it, with a say in when garbage is collected: by itself, and by its shims, which
// inherit the setting. There is one for each pod, with little to do and few megabytes.
package main

import (
	"context"
	"fmt"
	"os"

	_ "ahead.minikube.local/containerd/memory"
	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/containerd/containerd/v2/cmd/containerd/command"
)

func main() {
	os.Setenv("GOGC", "50")
	if err := command.App().Run(context.Background(), os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "containerd:", err)
		os.Exit(1)
	}
}
