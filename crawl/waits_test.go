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
			w.set(hostA+path, answered{status: 503, after: "290"})
		}
		w.page(hostA+"/", links...)
		time.AfterFunc(8*time.Minute, func() {
			for _, path := range links {
				w.page(hostA + path)
			}
		})
		began := time.Now()
		_ = w.once()
		lines := regexp.MustCompile(`time=(\S+) level=INFO msg=waiting (.*)`).FindAllStringSubmatch(w.logged.String(), -1)
		if len(lines) != 9 {
			t.Fatalf("%d lines in %s, want 9: %q", len(lines), time.Since(began), lines)
		}
		until := began.Add(290 * time.Second).Format("2006-01-02T15:04:05.000Z07:00")
		if want := "hosts=1 host=" + hostA + " until=" + until + " why=retry-after urls=30 of=30 pages=1"; lines[0][2] != want {
			t.Errorf("it says %q, want %q", lines[0][2], want)
		}
		for i, line := range lines {
			at, err := time.Parse(time.RFC3339, line[1])
			if err != nil || at.Sub(began).Round(time.Second) != time.Duration(i+1)*time.Minute {
				t.Errorf("line %d came after %s, %v", i, at.Sub(began), err)
			}
		}
	}, hostA+"/")
}
