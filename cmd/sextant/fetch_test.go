package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/admin"
)

func TestFetchTellsOfCutLinks(t *testing.T) {
	for cut, want := range map[bool]int{false: 0, true: 1} {
		var out strings.Builder
		printPage(&admin.FetchedPage{Read: true, Follows: true, Links: 50_000, LinksCut: cut}, func(name, format string, args ...any) {
			fmt.Fprintf(&out, name+" "+format+"\n", args...)
		}, 0)
		if n := strings.Count(out.String(), "links 50000 of more"); n != want {
			t.Errorf("cut %t: told %d times:\n%s", cut, n, &out)
		}
	}
}
