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
		"": 3, "url=http": 3, "url=nowhere.test": 0, "state=held": 2, "state=resting": 1, "reason=not_found": 2, "reason=robots": 0,
		"edit=17": 1, "edit=16": 0, "host=a.test": 2, "host=http%3A%2F%2Fa.test": 2, "host=https%3A%2F%2Fa.test": 0, "host=test": 0,
		"host=a.test&state=held": 1, "host=b.test&reason=rules&edit=17&state=held&url=/2": 1,
	} {
		if n := list(query); n != want {
			t.Errorf("%q lists %d, want %d", query, n, want)
		}
	}
}
