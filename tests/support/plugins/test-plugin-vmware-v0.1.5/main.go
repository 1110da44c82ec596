// The driver plugin for VMware, as its authors publish it.
package main

import (
	"github.com/docker/machine/libmachine/drivers/plugin"
	"github.com/machine-drivers/docker-machine-driver-vmware/pkg/drivers/vmware"
)

func main() {
	plugin.RegisterDriver(vmware.NewDriver("", ""))
}
