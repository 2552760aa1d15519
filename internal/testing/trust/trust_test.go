package trust

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// TestTrust draws cases and compares all answers. SEXTANT_TRUST is how long it goes on, such
// as 1h; without it, it is quick.
func TestTrust(t *testing.T) {
	var limit time.Duration
	if s := os.Getenv("SEXTANT_TRUST"); s != "" {
		var err error
		if limit, err = time.ParseDuration(s); err != nil {
			t.Fatalf("SEXTANT_TRUST: %v; write a time such as 30m", err)
		}
	}
	seeded.CheckFor(t, limit, func(r *rapid.T) {
		c := drawTrial(r)
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = c.try(t) })
		if len(faults) > 0 {
			r.Fatalf("%s\n%s", strings.Join(faults, "\n"), c)
		}
	})
}

// try crawls a case and gives what does not agree.
func (c *trial) try(t *testing.T) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	inWorld(t, c, func(w *world) {
		if ok, why := w.load(&c.First); !ok {
			fail("the configuration is refused: %s", why)
			return
		}
		if err := w.run(false); err != nil && !strings.Contains(err.Error(), "root") {
			fail("the crawl ends: %v", err)
			return
		}
		w.agree("crawled", true, fail)
		if c.Then == nil {
			return
		}
		if ok, why := w.load(c.Then); !ok {
			fail("the second configuration is refused: %s", why)
			return
		}
		if err := w.run(c.Refresh); err != nil && !strings.Contains(err.Error(), "root") {
			fail("the second crawl ends: %v", err)
			return
		}
		w.agree("crawled again", c.Refresh, fail)
	})
	return faults
}
