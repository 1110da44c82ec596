// etcd as upstream's own main program starts it, with a say in when garbage is collected.
package main

import (
	"os"

	_ "ahead.minikube.local/etcd/memory"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
