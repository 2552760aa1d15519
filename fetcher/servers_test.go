package fetcher

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/hostile"
)

const hostileList = "../testdata/hostile/servers.md"

// hostileSettings returns those of the list: what is read is bounded at 1 MiB, and no limit
// of time is short but the one that is named.
func hostileSettings(s *hostile.Servers, limit string) Settings {
	set := DefaultSettings()
	set.Resolver, set.Roots, set.Exempt = s.Resolver, s.Roots, s.Exempt
	set.MaxBodyBytes = 1 << 20
	const long = 10 * time.Minute
	set.ConnectTimeout, set.TLSTimeout, set.FirstByteTimeout, set.IdleTimeout, set.DownloadTimeout = long, long, long, long, long
	const soon = 3 * short
	switch limit {
	case "connect":
		set.ConnectTimeout = soon
	case "tls":
		set.TLSTimeout = soon
	case "first byte":
		set.FirstByteTimeout = soon
	case "idle":
		set.IdleTimeout = soon
	case "download":
		set.DownloadTimeout = soon
	}
	return set
}

// outcome returns what came of a fetch in the words of the list.
func outcome(resp *Response, err error) string {
	if err == nil {
		return fmt.Sprint(resp.Status, " ", len(resp.Body))
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Fault.String()
	}
	return err.Error()
}

// TestHostileList: each server of the list is there, each that is there is in the list,
// and what comes of a fetch from it is what the list says: the answer or the why, by
// which limit of time, and how much memory it may cost.
func TestHostileList(t *testing.T) { onBoth(t, testHostileList) }

func testHostileList(t *testing.T, newFetcher maker) {
	if testing.Short() {
		t.Skip("hundreds of servers that take their time")
	}
	servers, cases := hostile.Start(t), hostile.Read(t, hostileList)
	var listed []string
	for _, c := range cases {
		listed = append(listed, c.Name)
	}
	slices.Sort(listed)
	if diff := cmp.Diff(servers.Names(), listed); diff != "" {
		t.Fatalf("servers and list are not the same (-servers +list):\n%s", diff)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			mib, err := strconv.Atoi(c.Memory)
			if err != nil {
				t.Fatalf("memory %q is no number of MiB", c.Memory)
			}
			f := newFetcher(t, func(s *Settings) { *s = hostileSettings(servers, c.Limit) })
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, err := f.Fetch(ctx, Request{URL: mustURL(t, servers.URLs[c.Name])})
			runtime.ReadMemStats(&after)
			if ctx.Err() != nil {
				t.Fatal("no limit ended it")
			}
			if got := outcome(resp, err); !hostile.OneOf(got, c.Fetch) {
				t.Errorf("got %q (%v), want %q", got, err, c.Fetch)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(mib)<<20 {
				t.Errorf("%d KiB were allocated, want at most %d MiB", used>>10, mib)
			}
			if resp != nil && int64(cap(resp.Body)) > 2<<20 {
				t.Errorf("the body holds %d bytes", cap(resp.Body))
			}
		})
	}
}
