package visit

import (
	"testing"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// everything accepts, indexes and follows all.
func everything() policy.Settings {
	s := policy.Settings{Frontier: scheduler.DefaultSettings()}
	s.Frontier.Deletions.Off = true
	s.Rules.DefaultAccept, s.Rules.DefaultIndex, s.Rules.DefaultFollow = true, true, true
	return s
}

func leaseOf(t *testing.T, raw string) *scheduler.Lease {
	t.Helper()
	u := parse(t, raw)
	return &scheduler.Lease{URL: u, Key: u.Key()}
}
