package badgerkv

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/scheduler"
)

// longestValue is the size of the longest value expected: the body of one document.
const longestValue = 64 << 20

// collectAfter is the number of bytes that enter the value log before collectGarbage runs again.
const collectAfter = 2 * longestValue

// roomIn checks that the disk of a store's directory has minFree bytes free.
func roomIn(dir string, minFree int64) error {
	if minFree < 0 {
		return nil
	}
	free, _, err := space(dir)
	if err != nil {
		return fmt.Errorf("store %s: free space: %w", dir, err)
	}
	if free >= minFree {
		return nil
	}
	return fmt.Errorf("store %s: %w: %d MiB are free, %d are required: free some space; nothing is lost",
		dir, scheduler.ErrFull, free>>20, minFree>>20)
}

// space returns the free space and the size of a disk, in bytes.
func space(dir string) (free, size int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	block := uint64(st.Bsize)
	return blocksBytes(st.Bavail, block), blocksBytes(st.Blocks, block), nil
}

// blocksBytes returns the size of a number of blocks. FreeBSD's count of available blocks is signed: it is negative
// when only root may still write.
func blocksBytes[N int64 | uint64](blocks N, block uint64) int64 {
	if n := uint64(max(blocks, 0)); n < math.MaxInt64/block {
		return int64(n * block)
	}
	return math.MaxInt64
}
