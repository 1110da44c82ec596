// Volumes for the default StorageClass: every claim gets a directory of the node, removed when its volume is given back.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	_ "ahead.minikube.local/storage-provisioner/memory"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const (
	// The name minikube's StorageClass has always used: manifests in the wild refer to it.
	provisionerName = "k8s.io/minikube-hostpath"
	// Marks the volumes this provisioner made, so that it never deletes a directory somebody else set up.
	identityAnnotation = "hostPathProvisionerIdentity"
)

type hostPath struct {
	root     string
	identity string
}

func (p *hostPath) Provision(_ context.Context, options controller.ProvisionOptions) (*v1.PersistentVolume, controller.ProvisioningState, error) {
	claim := options.PVC
	if claim.Spec.Selector != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("a claim with a selector cannot get a new volume")
	}
	directory := filepath.Join(p.root, claim.Namespace, claim.Name)
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	// Pods run as any user: the umask must not take their right to write.
	if err := os.Chmod(directory, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	policy := v1.PersistentVolumeReclaimDelete
	if options.StorageClass.ReclaimPolicy != nil {
		policy = *options.StorageClass.ReclaimPolicy
	}
	kind := v1.HostPathDirectoryOrCreate
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        options.PVName,
			Annotations: map[string]string{identityAnnotation: p.identity},
		},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: policy,
			AccessModes:                   claim.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			VolumeMode:                    claim.Spec.VolumeMode,
			Capacity:                      v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				HostPath: &v1.HostPathVolumeSource{Path: directory, Type: &kind},
			},
		},
	}, controller.ProvisioningFinished, nil
}

func (p *hostPath) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	if owner := volume.Annotations[identityAnnotation]; owner != p.identity {
		return &controller.IgnoredError{Reason: fmt.Sprintf("the volume belongs to %q", owner)}
	}
	if volume.Spec.HostPath == nil {
		return &controller.IgnoredError{Reason: "not a hostPath volume"}
	}
	inside, err := filepath.Rel(p.root, volume.Spec.HostPath.Path)
	if err != nil || !filepath.IsLocal(inside) || inside == "." {
		return fmt.Errorf("%s is not below %s: left alone", volume.Spec.HostPath.Path, p.root)
	}
	return os.RemoveAll(filepath.Join(p.root, inside))
}

func config() (*rest.Config, error) {
	if path := os.Getenv("KUBECONFIG"); path != "" {
		return clientcmd.BuildConfigFromFlags("", path)
	}
	return rest.InClusterConfig()
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := os.Getenv("PV_DIR")
	if root == "" {
		root = "/tmp/hostpath-provisioner"
	}
	settings, err := config()
	if err != nil {
		log.Fatalf("no way to the API server: %v", err)
	}
	client, err := kubernetes.NewForConfig(settings)
	if err != nil {
		log.Fatalf("no way to the API server: %v", err)
	}
	// One identity for good: a volume outlives the pod (and the node name) that made it.
	provisioner := &hostPath{root: root, identity: provisionerName}
	controller.NewProvisionController(ctx, client, provisionerName, provisioner,
		controller.LeaderElection(false), controller.MetricsPort(0)).Run(ctx)
}
