package admin

import (
	"net/http"
	"strings"
	"testing"
)

// TestNarrowedDeletions: only those are listed that all parts of a query select.
func TestNarrowedDeletions(t *testing.T) {
	d := openDoor(t, nil, nil)
	list := func(query string) int {
		_, body := d.do(t, d.request(t, http.MethodGet, "/api/v1/deletions?"+query, d.operator, ""))
		return strings.Count(body, `"url"`)
	}
	for query, want := range map[string]int{
		"": 3, "url=http": 3, "url=nowhere.test": 0, "up_to=2": 2, "up_to=0": 3, "reason=not_found": 1, "reason=robots": 0,
		"edit=17": 1, "edit=16": 0, "host=b.test": 2, "host=http%3A%2F%2Fa.test": 1, "host=https%3A%2F%2Fa.test": 0, "host=test": 0,
		"host=b.test&up_to=1": 1, "host=b.test&reason=rules&edit=17&up_to=2&url=/2": 1,
	} {
		if n := list(query); n != want {
			t.Errorf("%q lists %d, want %d", query, n, want)
		}
	}
}
