package visit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestFollowedOnce: of links that differ in what is cut off one is followed, however
// much of it there is; what is known is followed as it is.
func TestFollowedOnce(t *testing.T) {
	p, err := policy.New(everything(), nil)
	if err != nil {
		t.Fatal(err)
	}
	store := teststore.New(t)
	v := &visit{visitor: &Visitor{patterns: copies.NewPatterns(nil)}, store: store, policy: p, lease: leaseOf(t, "http://h/")}
	link := func(raw string) scheduler.Link {
		return scheduler.Link{URL: parse(t, raw), Fifo: scheduler.Index, Depth: 3}
	}
	follow := func() (urls []string) {
		var links []scheduler.Link
		for _, raw := range []string{"http://h/a?p=1&q=1&r=1&s=1&t=1&x=1", "http://h/b?p=3", "http://h/b?q=4", "http://h/known?p=1", "http://h/plain"} {
			links = append(links, link(raw))
		}
		links, err := v.followed(t.Context(), links)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			urls = append(urls, l.URL.String())
		}
		return urls
	}
	if _, _, err := store.Add(t.Context(), []scheduler.Link{link("http://h/known?p=1")}, false); err != nil {
		t.Fatal(err)
	}
	if got := follow(); len(got) != 5 {
		t.Errorf("%q are followed before anything is learnt", got)
	}
	saw := func(n int, of string) {
		for _, name := range []string{"p", "q", "r", "s", "t"} {
			for range n {
				original := weburl.URL{}
				if of != "" {
					original = parse(t, of)
				}
				v.visitor.patterns.Observe(parse(t, "http://h/x?"+name+"=1"), original)
			}
		}
	}
	const budget = 100 // copies until links are cut off
	saw(budget, "http://h/x")
	if diff := cmp.Diff([]string{"http://h/a?x=1", "http://h/b", "http://h/known?p=1", "http://h/plain"}, follow()); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if again := copies.NewPatterns(v.visitor.patterns.Learnt(true)).Status(); len(again.Learnt) != 5 {
		t.Errorf("%d patterns are known after a restart, want 5", len(again.Learnt))
	}
	saw(budget, "") // most are documents after all
	if got := follow(); len(got) != 5 || v.visitor.patterns.Cuts() {
		t.Errorf("%q are followed when nothing is cut off any more", got)
	}
}
