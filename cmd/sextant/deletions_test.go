package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
)

// TestDeletionText: a new text does not leave, and no visit has seen what an edit made.
func TestDeletionText(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	now := clock.Local(at)
	for want, d := range map[string]admin.Deletion{
		"404 Not Found; seen by 2 visits, last " + now + "; leaves: not before " + now + "\n": {Text: "404 Not Found", Visits: 2, WaitsFor: "visit"},
		"its text is another one; seen by 1 visit, last " + now + "; gets its new text: when its host is well, or gone: " + now + "\n": {
			Text: "its text is another one", Visits: 1, WaitsFor: "well_host", Replaces: true,
		},
		"rule 3; leaves: not before the operator's word\n": {Text: "rule 3", Visits: 1, WaitsFor: "word", Edit: 17},
	} {
		d.Since, d.LastSeen, d.NotBefore, d.URL = at, at, &at, "http://a/"
		var out strings.Builder
		if err := texts(&out, unpainted)("deletion", &d); err != nil || !strings.HasSuffix(out.String(), "http://a/  "+want) {
			t.Errorf("%q, %v, want %q", &out, err, want)
		}
	}
}
