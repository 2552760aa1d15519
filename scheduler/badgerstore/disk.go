package badgerstore

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
)

// collectAfter is how many bytes enter the value log until it is looked for files of it that are all
// garbage.
const collectAfter = 2 * record.MaxBody

// disk is what a store wants of its disk.
type disk struct {
	minFree int64
	space   func(dir string) (free, size int64, err error)
}

func (o Options) disk() disk {
	d := disk{o.MinFree, o.Space}
	if d.space == nil {
		d.space = space
	}
	return d
}

// roomIn is for the directory of a store, and the free space that it must have.
func (d disk) roomIn(dir string, minFree int64) error {
	if minFree < 0 {
		return nil
	}
	free, _, err := d.space(dir)
	if err != nil {
		return fmt.Errorf("store %s: free space: %w", dir, err)
	}
	if free >= minFree {
		return nil
	}
	return fmt.Errorf("store %s: %w: %d MiB are free, %d are needed: free some space, nothing is lost",
		dir, scheduler.ErrFull, free>>20, minFree>>20)
}

// space is what a disk has, and has in all, in bytes.
func space(dir string) (free, size int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	block := uint64(st.Bsize)
	return blocksBytes(st.Bavail, block), blocksBytes(st.Blocks, block), nil
}

// blocksBytes is the size of a number of blocks. FreeBSD counts those that are available with a
// sign: there are less than none where only root may still write.
func blocksBytes[N int64 | uint64](blocks N, block uint64) int64 {
	if n := uint64(max(blocks, 0)); n < math.MaxInt64/block {
		return int64(n * block)
	}
	return math.MaxInt64
}
