package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestFirstPaint measures when the browser first shows something of the overview, with
// SEXTANT_PAINT_URLS URLs on a tenth as many hosts in the store; without the variable it
// is skipped. It asserts no time: it prints figures for the docs.
func TestFirstPaint(t *testing.T) {
	needsBrowser(t)
	urls, err := strconv.Atoi(os.Getenv("SEXTANT_PAINT_URLS"))
	if err != nil || urls < 10 {
		t.Skip("SEXTANT_PAINT_URLS says with how many URLs, such as 1000000")
	}
	w := worldOfMany(t, urls)
	tab := newTab(t, w.origin)
	tab.signIn(w.operator)
	for _, path := range []string{"/", "/hosts"} {
		var paints, answers, loads []float64
		for range 20 {
			tab.open(path)
			tab.wait("it was painted", `performance.getEntriesByName("first-contentful-paint").length`)
			figures := eval[[]float64](tab, `(() => { const n = performance.getEntriesByType("navigation")[0]; return [performance.getEntriesByName("first-contentful-paint")[0].startTime, n.responseEnd - n.startTime, n.loadEventEnd - n.startTime]; })()`)
			paints, answers, loads = append(paints, figures[0]), append(answers, figures[1]), append(loads, figures[2])
		}
		for name, all := range map[string][]float64{"first contentful paint": paints, "answer read": answers, "loaded": loads} {
			slices.Sort(all)
			t.Logf("%d URLs, %d hosts, %s: %s: median %.0f ms, slowest %.0f ms of %d", urls, urls/10, path, name, all[len(all)/2], all[len(all)-1], len(all))
		}
	}
}

// worldOfMany starts the service on a store of so many URLs, paused.
func worldOfMany(t *testing.T, urls int) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	t.Cleanup(w.close)
	w.config = filepath.Join(w.dir, "CrawlConfig.xml")
	text := `<CrawlConfig><Crawler name="many" throttleTimeMS="3600000" nthreads="1"><Root url="http://h1.invalid/"/><Rules/><Push kind="file"/></Crawler></CrawlConfig>`
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	store, err := badgerstore.Open(filepath.Join(w.dir, "data", "store"), badgerstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	var links []scheduler.Link
	for i := range urls {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.invalid/%d", i%(urls/10), i))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, scheduler.Link{URL: u, Fifo: scheduler.Source(i % int(scheduler.Refresh))})
		if len(links) == 5000 || i == urls-1 {
			if _, _, err := store.Add(t.Context(), links, false); err != nil {
				t.Fatal(err)
			}
			links = links[:0]
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.startService(); err != nil {
		t.Fatal(err)
	}
	if err := w.api("POST", "/pause", "", nil); err != nil {
		t.Fatal(err)
	}
	return w
}
