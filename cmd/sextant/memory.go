package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

func memoryFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "memory-limit", EnvVars: env("memory-limit"),
		Usage: "memory that the process tries to stay below, as `SIZE` (512MiB, 2GiB) or off (default: three quarters of the container's, else half of the machine's; GOMEMLIMIT counts where it is set)",
	}
}

// limitMemory tells the garbage collector how much memory there is. The environment
// variable GOMEMLIMIT, which the runtime has obeyed already, counts before what is
// found, and the flag before both.
func limitMemory(c *cli.Context, log *slog.Logger) error {
	written := c.String("memory-limit")
	if written == "" {
		if limit := os.Getenv("GOMEMLIMIT"); limit != "" {
			log.Info("memory limit", "bytes", debug.SetMemoryLimit(-1), "from", "GOMEMLIMIT="+limit)
			return nil
		}
		limit, from := memoryShare(os.DirFS("/"))
		debug.SetMemoryLimit(limit)
		log.Info("memory limit", "bytes", limit, "from", from)
		return nil
	}
	limit, ok := parseSize(written)
	if !ok {
		return wrongUse("--memory-limit %q: write a size such as 512MiB or 2GiB (at least %d MiB), or off", written, leastMemory>>20)
	}
	debug.SetMemoryLimit(limit)
	log.Info("memory limit", "bytes", limit, "from", "--memory-limit")
	return nil
}

// leastMemory is what a limit must allow: below it the collector would run without end.
const leastMemory = 64 << 20

// parseSize reads a size as GOMEMLIMIT has it.
func parseSize(s string) (int64, bool) {
	if s == "off" {
		return math.MaxInt64, true
	}
	shift := 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			s, shift = n, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(s, "B"), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift || n<<shift < leastMemory {
		return 0, false
	}
	return n << shift, true
}

// memoryShare is the part of the container's or the machine's memory that the
// program takes for itself; the rest is for the cache of its files, and for others.
func memoryShare(root fs.FS) (limit int64, from string) {
	limit, from = math.MaxInt64, "no limit is known"
	if total := machineMemory(root); total > 0 {
		limit, from = max(total/2, leastMemory), "half of the machine's memory"
	}
	if most := containerMemory(root); most > 0 && most/4*3 < limit {
		limit, from = max(most/4*3, leastMemory), "three quarters of the container's memory"
	}
	return limit, from
}

// machineMemory is MemTotal of /proc/meminfo; 0 if it is not known.
func machineMemory(root fs.FS) int64 {
	raw, _ := fs.ReadFile(root, "proc/meminfo")
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 53)
			return kib << 10
		}
	}
	return 0
}

// containerMemory is the lowest memory limit of the control groups, version 2 or 1,
// that the process is in; 0 if there is none.
func containerMemory(root fs.FS) int64 {
	files := []string{"sys/fs/cgroup/memory/memory.limit_in_bytes"}
	raw, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(raw)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for ok {
			files = append(files, path.Join("sys/fs/cgroup", group, "memory.max"))
			if group == "" || group == "." {
				break
			}
			group = path.Dir(group)
		}
	}
	least := int64(0)
	for _, name := range files {
		if raw, err := fs.ReadFile(root, name); err == nil { // "max" is no number
			if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}
