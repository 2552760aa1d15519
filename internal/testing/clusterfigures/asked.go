package clusterfigures

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Asked skips what measures a part, unless make cluster-figures asks for that.
func Asked(t testing.TB, part string) {
	t.Helper()
	if parts := os.Getenv("SEXTANT_CLUSTER_FIGURES"); !slices.Contains(strings.Fields(parts), part) {
		t.Skipf("make cluster-figures PARTS=%s runs it", part)
	}
}

// Number is what a variable of the environment says, which may be missing. It is at least 1, or 0 where that is usual.
func Number(t testing.TB, name string, usual int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < min(usual, 1) {
		t.Fatalf("%s=%s: write a number", name, s)
	}
	return n
}
