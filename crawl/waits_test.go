package crawl

import (
	"fmt"
	"regexp"
	"testing"
	"time"
)

// TestTellsWaits: each minute a crawl that runs once says which host it waits for, until when, why,
// and for how many URLs.
func TestTellsWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const n = 31
		w.settings.Workers = 1
		w.settings.Frontier.Throttle = time.Second
		var links []string
		for i := range n {
			path := fmt.Sprintf("/p%02d", i)
			links = append(links, path)
			w.set(hostA+path, answered{status: 503, after: "55"})
		}
		w.page(hostA+"/", links...)
		time.AfterFunc(8*time.Minute, func() {
			for _, path := range links {
				w.page(hostA + path)
			}
		})
		began := time.Now()
		_ = w.once()
		lines := regexp.MustCompile(`time=(\S+) level=INFO msg=waiting hosts=1 host=(\S+) until=(\S+) why=(?:retry-after|back-off) urls=(\d+) of=(\d+) pages=1`).
			FindAllStringSubmatch(w.logged.String(), -1)
		if len(lines) != 8 {
			t.Fatalf("%d lines in %s, want one a minute: %s", len(lines), time.Since(began), w.logged.String())
		}
		for i, line := range lines {
			at, err := time.Parse(time.RFC3339, line[1])
			until, untilErr := time.Parse(time.RFC3339, line[3])
			if err != nil || untilErr != nil || at.Sub(began).Round(time.Second) != time.Duration(i+1)*time.Minute ||
				until.Before(at.Add(-time.Second)) || until.After(at.Add(80*time.Second)) || line[2] != hostA || line[4] != line[5] {
				t.Errorf("line %d: %q", i, line)
			}
		}
	}, hostA+"/")
}

// TestLongPauseIsLeft: a crawl that runs once does not wait for a host that asks for a pause of more than a minute.
func TestLongPauseIsLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var links []string
		for i := range 31 {
			path := fmt.Sprintf("/p%02d", i)
			links = append(links, path)
			w.set(hostA+path, answered{status: 503, after: "120"})
		}
		w.page(hostA+"/", links...)
		w.page(hostB+"/", "/1", "/2")
		w.page(hostB + "/1")
		w.page(hostB + "/2")
		began := time.Now()
		if err := w.once(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("it took %s", took)
		}
		if got := w.index(); len(got) != 4 {
			t.Errorf("indexed are %v, want the home page and the other host", got)
		}
	}, hostA+"/", hostB+"/")
}
