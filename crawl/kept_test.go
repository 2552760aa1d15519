package crawl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/store"
)

// TestKeptCookies: a log-in goes on in the next run if its cookies are kept, and only then.
func TestKeptCookies(t *testing.T) {
	for _, keep := range []bool{false, true} {
		site := newIntranet(t, 5, true)
		b := benchOf(t, site)
		path := filepath.Join(t.TempDir(), "cookies")
		b.settings.CookieFile, b.settings.Fetches[0].Login.KeepCookies = path, keep
		b.once()
		info, err := os.Stat(path)
		if got := err == nil; got != keep || got && info.Mode() != 0o600 {
			t.Errorf("kept %v: file %v, %v", keep, info, err)
		}
		b.with(func(c *Crawl, _ *store.Store) {
			if _, err := c.Refresh(t.Context(), Selection{All: true, Full: true}); err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
				t.Fatal(err)
			}
		})
		if want := map[bool]int{false: 2, true: 1}[keep]; site.logIns != want {
			t.Errorf("kept %v: %d log-ins, want %d", keep, site.logIns, want)
		}
	}
}
