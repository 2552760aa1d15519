package crawl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
)

// inTwins is a world with two pages of one text, which was crawled once, and the pages: the
// original and its copy.
func inTwins(t *testing.T, fn func(t *testing.T, w *world, original, copied string)) {
	t.Helper()
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.NearDuplicates = true
		w.page(hostA+"/", "/a", "/b", "/c")
		w.set(hostA+"/a", answered{body: prose(1, 200, "")})
		w.set(hostA+"/b", answered{body: prose(1, 200, "")})
		w.set(hostA+"/c", answered{body: prose(2, 200, "")})
		if err := w.once(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute) // a loss that is found with the first one proves nothing about the host
		switch {
		case slices.Equal(w.index(), []string{hostA + "/", hostA + "/a", hostA + "/c"}):
			fn(t, w, hostA+"/a", hostA+"/b")
		case slices.Equal(w.index(), []string{hostA + "/", hostA + "/b", hostA + "/c"}):
			fn(t, w, hostA+"/b", hostA+"/a")
		default:
			t.Fatalf("indexed are %v", w.index())
		}
	}, hostA+"/")
}

// TestCopyTakesItsPlaceAtOnce: a run that runs once does not end before the copy of a document that
// left in it is in the index.
func TestCopyTakesItsPlaceAtOnce(t *testing.T) {
	for name, leaves := range map[string]func(w *world, original string){
		"a rule": func(w *world, original string) {
			w.settings.Rules.Rules = []actionrules.Rule{{
				If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: original[len(hostA):]},
				Then: []actionrules.Action{{Verb: actionrules.Ignore}},
			}}
		},
		"a kill list": func(w *world, original string) {
			w.settings.Space.KillPatterns = file("kill", original)
		},
		"404": func(w *world, original string) {
			w.set(original, answered{status: 404})
			w.open()
			if _, err := w.crawl.Refresh(w.t.Context(), Selection{All: true}); err != nil {
				w.t.Fatal(err)
			}
			w.close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTwins(t, func(t *testing.T, w *world, original, copied string) {
				leaves(w, original)
				if err := w.once(); err != nil {
					t.Error(err)
				}
				if want := []string{hostA + "/", copied, hostA + "/c"}; !slices.Equal(w.index(), want) {
					t.Errorf("indexed are %v, want %v", w.index(), want)
				}
			})
		})
	}
}

// TestCopiesLeft: copies that a run could not fetch in place of documents that left are counted.
func TestCopiesLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.NearDuplicates, w.settings.Workers = true, 1
		w.settings.Frontier.Deletions.Off = true
		const n = 30
		var links []string
		for i := range n {
			path := fmt.Sprintf("/p%02d", i)
			links = append(links, path)
			for _, host := range []string{hostA, hostB} {
				w.set(host+path, answered{body: fmt.Sprintf("<title>%d</title>", i) + prose(uint64(i), 200, "")})
			}
		}
		w.page(hostA+"/", links...)
		w.page(hostB+"/", links...)
		if err := w.once(); err != nil {
			t.Error(err)
		}
		w.roots(hostA+"/", hostB+"/")
		if err := w.once(); err != nil {
			t.Error(err)
		}
		if got := len(w.index()); got != n+2 {
			t.Fatalf("%d are indexed, want %d: %v", got, n+2, w.index())
		}
		connect := w.settings.Fetcher.Connect
		w.settings.Fetcher.Connect = func(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
			if "http://"+at.Addr().String() == hostB {
				return nil, errors.New("connection refused")
			}
			return connect(ctx, at)
		}
		w.settings.Rules.Rules = []actionrules.Rule{{
			If:   actionrules.Atom{Field: actionrules.FieldURL, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: hostA + "/p"},
			Then: []actionrules.Action{{Verb: actionrules.Ignore}},
		}}
		w.open()
		w.crawl.AllowNextEdit()
		if err := w.crawl.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Error(err)
		}
		s := w.status()
		waiting := uint64(0)
		for _, of := range s.Pending {
			waiting += of
		}
		if s.Duplicates.Freed == 0 || uint64(s.Duplicates.Freed) > waiting {
			t.Errorf("%d copies wait in place of documents that left, of %d URLs", s.Duplicates.Freed, waiting)
		}
		w.close()
	}, hostA+"/")
}
