package trust

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestTrust draws cases and compares all answers. SEXTANT_TRUST is how long to go on, such
// as 1h, and SEXTANT_SEED where to begin; without them it runs the same cases each time.
func TestTrust(t *testing.T) {
	rounds(t, func(r *rapid.T) {
		c := drawTrial(r)
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = c.try(t) })
		if len(faults) > 0 {
			r.Fatalf("%s\n%s", strings.Join(faults, "\n"), c)
		}
	})
}

// rounds checks a property for some cases, or for as long as is asked for.
func rounds(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	seed, limit := 1, time.Duration(0)
	if s := os.Getenv("SEXTANT_TRUST"); s != "" {
		var err error
		if limit, err = time.ParseDuration(s); err != nil {
			t.Fatalf("SEXTANT_TRUST: %v; write a time such as 30m", err)
		}
		seed = int(time.Now().UnixNano() >> 20 & 0x7fffffff)
	}
	if s := os.Getenv("SEXTANT_SEED"); s != "" && s != "random" {
		var err error
		if seed, err = strconv.Atoi(s); err != nil {
			t.Fatalf("SEXTANT_SEED: %v; write a number", err)
		}
	}
	set := func(name, value string) {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	set("rapid.nofailfile", "true")
	set("rapid.checks", "100")
	for begin := time.Now(); ; seed++ {
		set("rapid.seed", fmt.Sprint(seed))
		rapid.Check(t, property)
		if t.Failed() {
			t.Logf("SEXTANT_SEED=%d repeats it", seed)
			return
		}
		if time.Since(begin) >= limit {
			t.Logf("up to seed %d", seed)
			return
		}
	}
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
