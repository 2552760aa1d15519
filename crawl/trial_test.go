package crawl

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
)

// TestTrialTellsOfPauses: a dry run says what it waits for, and waits no longer for a
// robots.txt than a crawl.
func TestTrialTellsOfPauses(t *testing.T) {
	for robots, want := range map[string]struct {
		waits time.Duration
		says  string
	}{
		"User-agent: *\nCrawl-delay: 20":                                            {20 * time.Second, "for=20s by=crawl-delay"},
		"User-agent: *\nCrawl-delay: 500":                                           {time.Minute, "for=1m0s by=crawl-delay"},
		"User-agent: Yandex\nCrawl-delay: 500\n\nUser-agent: *\nDisallow: /private": {0, ""},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.set(hostA+"/robots.txt", answered{body: robots})
			w.page(hostA + "/")
			var logged testlog.Buffer
			began := time.Now()
			trial, err := Try(t.Context(), w.settings, teststore.New(t), TrialOf{Raw: hostA + "/", URL: parse(t, hostA+"/")}, slog.New(slog.NewTextHandler(&logged, nil)))
			took := time.Since(began)
			if err != nil || trial.Page == nil {
				t.Fatalf("%+v, %v", trial, err)
			}
			if said := logged.String(); (want.says != "") != strings.Contains(said, "the host rests before the next request") || !strings.Contains(said, want.says) {
				t.Errorf("%q: it said %q, want %q", robots, said, want.says)
			}
			if took < want.waits || took > want.waits+2*time.Second {
				t.Errorf("%q: it took %v, want %v", robots, took, want.waits)
			}
		}, hostA+"/")
	}
}
