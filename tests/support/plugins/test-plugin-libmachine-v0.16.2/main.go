// Two of libmachine's own drivers as plugins; the name the program is called by says which.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/machine/drivers/generic"
	"github.com/docker/machine/drivers/none"
	"github.com/docker/machine/libmachine/drivers/plugin"
)

func main() {
	if strings.HasSuffix(filepath.Base(os.Args[0]), "generic") {
		plugin.RegisterDriver(generic.NewDriver("", ""))
	} else {
		plugin.RegisterDriver(none.NewDriver("", ""))
	}
}
