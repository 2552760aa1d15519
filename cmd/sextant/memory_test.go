package main

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestMemoryShare(t *testing.T) {
	const machine = "MemTotal:       8388608 kB\nMemFree:  1 kB\n" // 8 GiB
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":       {nil, math.MaxInt64},
		"machine":             {map[string]string{"proc/meminfo": machine}, 4 << 30},
		"container":           {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, 768 << 20},
		"slice above":         {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1073741824", "sys/fs/cgroup/a/b/memory.max": "max"}, 768 << 20},
		"container unlimited": {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 4 << 30},
		"old groups":          {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912"}, 384 << 20},
		"old groups, no end":  {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, 4 << 30},
		"tiny":                {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000"}, leastMemory},
	} {
		root := fstest.MapFS{}
		for file, text := range tt.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, from := memoryShare(root); got != tt.want {
			t.Errorf("%s: %d (%s), want %d", name, got, from, tt.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"off": math.MaxInt64, "512MiB": 512 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "134217728": 128 << 20, "134217728B": 128 << 20, "65536KiB": 64 << 20,
		"": -1, "2G": -1, "-1GiB": -1, "63MiB": -1, "much": -1, "9999999999TiB": -1, "1.5GiB": -1,
	} {
		got, ok := parseSize(s)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d %v, want %d", s, got, ok, want)
		}
	}
}
