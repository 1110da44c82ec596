// etcd as upstream's own main program starts it, with a say in when garbage is collected.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	rationMemory()
	etcdmain.Main(os.Args)
}
