package service

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// TestStopWhileEngineIsSilent: a node with pages under way stops though the engine does not answer, with one partition and with several, and goes on
// where it was when it is started again.
func TestStopWhileEngineIsSilent(t *testing.T) {
	for _, several := range []bool{false, true} {
		t.Run(fmt.Sprintf("several partitions %t", several), func(t *testing.T) {
			t.Parallel() // it waits for silences
			f := newFleet(t)
			f.answers = func(w http.ResponseWriter, r *http.Request, host int) { // without an end
				k, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprintf(w, `<title>t</title><p>Page %d of host %d <a href="/%d">next</a>`, k, host, k+1)
			}
			f.configure(f.roots(4))
			f.line = clustertest.NewLine(f.engine, 1)
			if several {
				f.divide(2)
			} else if err := f.found("n1", ""); err != nil {
				t.Fatal(err)
			}
			stop := f.start("n1")
			f.crawled(20)
			f.line.Set(clustertest.Faults{Dead: true})
			f.ready("n1", http.StatusServiceUnavailable)
			time.Sleep(f.times.Right) // pages that come next wait for the engine; if they do not yet, the test only wants less
			if err := stop(); err != nil {
				t.Errorf("it stops with %v", err)
			}
			f.line.Set(clustertest.Faults{})
			had := len(f.indexed())
			f.start("n1")
			f.crawled(had + 20)
		})
	}
}
