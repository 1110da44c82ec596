// Package memory gives a program that starts all the memory it wants, and has it keep little once that is over.
//
// It is for the side effect of importing it. Packages are initialised in the order of their paths, as far as they can be, so a path that
// begins with "ahead" is there before those of Kubernetes, whose initialisation alone would collect garbage twice.
package memory

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	youth = 15 * time.Second
	// What a component may use before it collects garbage for the first time. Collecting is a quarter of the CPU that a start takes.
	plenty = 400 << 20
	// How much may be allocated until garbage is collected again, in percent of what is in use.
	idle = 25
	busy = 100 // Go's own choice
	// Collections so close to each other are too many.
	often = 5 * time.Second
)

func init() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(min(plenty, allowed()/2))
	born := time.Now()
	adapt(born, born, -1)
	time.AfterFunc(youth, func() {
		debug.FreeOSMemory()
		forgetCode()
	})
}

// allowed is the limit of this program's control group, in either version of them.
func allowed() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, _ := os.ReadFile(file)
		if bytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			return bytes
		}
	}
	return math.MaxInt64
}

// adapt decides at the end of each collection when the next one is due.
func adapt(born, last time.Time, before int) {
	type mark struct{ _ [64]byte }
	runtime.SetFinalizer(new(mark), func(*mark) {
		now, percent := time.Now(), idle
		if now.Sub(born) < youth || now.Sub(last) < often {
			percent = busy
		}
		if before < 0 {
			debug.SetMemoryLimit(math.MaxInt64)
		}
		if percent != before {
			debug.SetGCPercent(percent)
		}
		adapt(born, now, percent)
	})
}

// forgetCode has the kernel take the program's own code and constants out of the process, most of which only its start needed. What is
// needed again comes back from the file as it did the first time.
func forgetCode() {
	program, unknown := os.Readlink("/proc/self/exe")
	maps, err := os.Open("/proc/self/maps")
	if unknown != nil || err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		var rights string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); n < 3 || !strings.HasSuffix(lines.Text(), " "+program) {
			continue
		}
		if rights == "r-xp" || rights == "r--p" {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
