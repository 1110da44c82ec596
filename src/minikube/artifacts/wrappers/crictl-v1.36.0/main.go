// podstarter asks the container runtime for pods of one container each, as many as it is told of, all at the same time:
//
//	podstarter unix:///run/containerd/containerd.sock
//
// A line of its input names two files, what is asked for as JSON: the container's, then the pod's. A line of its output is the name of
// the pod's file, and behind a tab why that pod has not started, if it has not. It is crictl's `run` without crictl's own start, which
// takes more CPU than all that it does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
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
			why := ""
			if err := start(runtime, container, pod); err != nil {
				why = strings.ReplaceAll(err.Error(), "\n", " ")
			}
			output.Lock()
			defer output.Unlock()
			fmt.Printf("%s\t%s\n", pod, why)
		})
	}
	asked.Wait()
}

func start(runtime cri.RuntimeServiceClient, containerFile, podFile string) error {
	pod, container := &cri.PodSandboxConfig{}, &cri.ContainerConfig{}
	if err := read(podFile, pod); err != nil {
		return err
	}
	if err := read(containerFile, container); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	box, err := runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
	for ; err != nil && strings.Contains(err.Error(), notYet) && ctx.Err() == nil; time.Sleep(pause) {
		box, err = runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
	}
	if err != nil {
		return err
	}
	made, err := runtime.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: box.PodSandboxId, Config: container, SandboxConfig: pod})
	if err != nil {
		return err
	}
	_, err = runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId})
	return err
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
