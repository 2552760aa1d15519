package site

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestWorldChanges: what the demo shows is there: before the change, and after it.
func TestWorldChanges(t *testing.T) {
	w := NewWorld("http://main.test/", time.Nanosecond)
	status := func(h http.Handler, path string) int { return get(t, h, path).Code }
	gone := 0
	for path := range w.books.before.resources {
		if status(w.Books(), path) == http.StatusOK && w.books.after.resources[path].status == http.StatusNotFound {
			gone++
		}
	}
	if gone != 4 {
		t.Errorf("%d manuals disappear, want 4", gone)
	}
	notices := get(t, w.Harbour(), "/notices").Body.String()
	for path, want := range map[string]int{"/catalogue": 500, "/members": 403, "/manuals/curlew": 200, "/entrance": 301, "/round": 301, "/sheets/heron-60.pdf": 200, "/photographs": 404} {
		if got := status(w.Books(), path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	w.Change()
	if got := status(w.Books(), "/manuals/curlew"); got != http.StatusNotFound {
		t.Errorf("after the change: %d", got)
	}
	if after := get(t, w.Harbour(), "/notices").Body.String(); after == notices || !strings.Contains(after, "gulls") || strings.Contains(notices, "gulls") {
		t.Errorf("the notices do not change:\n%s", after)
	}
}

// TestQuickWorld: without a slow host nothing answers so that a crawler lets a host rest.
func TestQuickWorld(t *testing.T) {
	if got := get(t, NewWorld("http://main.test", 0).Books(), "/catalogue").Code; got != http.StatusGone {
		t.Errorf("the catalogue answers %d", got)
	}
}

// TestWorldIsWhole: every page of a neighbour is linked, and only the links that are meant
// to be broken are.
func TestWorldIsWhole(t *testing.T) {
	w := NewWorld("http://main.test", 0)
	ref := regexp.MustCompile(`href="([^"]+)"`)
	for _, n := range []*neighbour{w.books, w.harbour} {
		seen, broken := map[string]bool{}, 0
		for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
			if seen[queue[0]] {
				continue
			}
			seen[queue[0]] = true
			answer := get(t, n, queue[0])
			switch answer.Code {
			case http.StatusMovedPermanently:
				queue = append(queue, answer.Header().Get("Location"))
			case http.StatusNotFound:
				broken++
			}
			for _, m := range ref.FindAllStringSubmatch(answer.Body.String(), -1) {
				if to, err := url.Parse(m[1]); err != nil || to.Host != "" && to.Host != "main.test" {
					t.Errorf("%s: link %q", queue[0], m[1])
				} else if to.Host == "" {
					queue = append(queue, to.Path)
				}
			}
		}
		if broken == 0 || broken > 2 {
			t.Errorf("%s: %d broken links", n.before.guest, broken)
		}
		for path := range n.before.resources {
			if !seen[path] {
				t.Errorf("%s: nothing leads to %s", n.before.guest, path)
			}
		}
	}
}
