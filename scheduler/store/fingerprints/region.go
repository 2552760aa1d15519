package fingerprints

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// mapFrom is the size from which memory is mapped: below, whole pages would waste more
// than the heap does.
const mapFrom = 64 << 10

// region is a piece of memory, of the heap or mapped. It must stay reachable while b is
// in use.
type region struct {
	b       []byte
	mapped  bool
	cleanup runtime.Cleanup
}

// newRegion returns n bytes or a few more.
func newRegion(n int) *region {
	if n >= mapFrom {
		const page = 4096
		n = (n + page - 1) / page * page
		b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err == nil {
			r := &region{b: b, mapped: true}
			r.cleanup = runtime.AddCleanup(r, unmap, b)
			return r
		}
		// No more mappings are allowed: the heap will do.
	}
	b := slices.Grow([]byte(nil), n)
	return &region{b: b[:cap(b)]}
}

// free unmaps mapped memory at once; it must not be used afterwards.
func (r *region) free() {
	if r.mapped {
		r.cleanup.Stop()
		unmap(r.b)
	}
}

func unmap(b []byte) { _ = unix.Munmap(b) } // it fails only for memory that is not a mapping
