// podstarter asks the container runtime for pods of one container each, as many as it is told of, all at the same time:
//
//	podstarter unix:///run/containerd/containerd.sock
//
// A line of its input names two files, what is asked for as JSON: the container's, then the pod's. A line of its output has three parts,
// with tabs between them: "started" or "refused", the name of the pod's file, and the container's id or why there is none. It is crictl's
// `run` without crictl's own start, which takes more CPU than all that it does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	_ "ahead.minikube.local/podstarter/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	patience = 20 * time.Second
	pause    = 5 * time.Millisecond
	notYet   = "not initialized yet" // a runtime listens before it can do anything
)

func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime := cri.NewRuntimeServiceClient(connection)
	var asked sync.WaitGroup
	var output sync.Mutex
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		container, pod, _ := strings.Cut(input.Text(), " ")
		asked.Go(func() {
			outcome := "started"
			said, err := start(runtime, container, pod)
			if err != nil {
				outcome, said = "refused", strings.ReplaceAll(err.Error(), "\n", " ")
			}
			output.Lock()
			defer output.Unlock()
			fmt.Printf("%s\t%s\t%s\n", outcome, pod, said)
		})
	}
	asked.Wait()
}

// start gives the container's id.
func start(runtime cri.RuntimeServiceClient, containerFile, podFile string) (string, error) {
	pod, container := &cri.PodSandboxConfig{}, &cri.ContainerConfig{}
	if err := errors.Join(read(podFile, pod), read(containerFile, container)); err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	box, err := runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
	for ; err != nil && strings.Contains(err.Error(), notYet) && ctx.Err() == nil; time.Sleep(pause) {
		box, err = runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
	}
	if err != nil {
		return "", err
	}
	made, err := runtime.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: box.PodSandboxId, Config: container, SandboxConfig: pod})
	if err != nil {
		return "", err
	}
	_, err = runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId})
	return made.ContainerId, err
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
