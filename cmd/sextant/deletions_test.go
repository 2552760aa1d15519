package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// TestPrintDeletion: a new text does not leave, and no visit has seen what an edit made.
func TestPrintDeletion(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for want, d := range map[string]admin.Deletion{
		"404 Not Found; seen by 2 visits, last 2026-03-04 05:06 UTC; leaves: not before 2026-03-04 05:06 UTC\n": {Text: "404 Not Found", Visits: 2, WaitsFor: "visit"},
		"its text is another one; seen by 1 visit, last 2026-03-04 05:06 UTC; gets its new text: when its host is well, or gone: 2026-03-04 05:06 UTC\n": {
			Text: "its text is another one", Visits: 1, WaitsFor: "well_host", Replaces: true,
		},
		"rule 3; leaves: not before the operator's word\n": {Text: "rule 3", Visits: 1, WaitsFor: "word", Edit: 17},
	} {
		d.Since, d.LastSeen, d.NotBefore, d.URL = at, at, &at, "http://a/"
		var out strings.Builder
		if err := printDeletion(&out, &d); err != nil || !strings.HasSuffix(out.String(), "http://a/  "+want) {
			t.Errorf("%q, %v, want %q", &out, err, want)
		}
	}
}
