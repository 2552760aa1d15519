package visit

import (
	"testing"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestRenderedPageStaysOutside: a page from an address that anybody can reach asks no internal
// one, by its own name neither, which may lead elsewhere by then.
func TestRenderedPageStaysOutside(t *testing.T) {
	u, err := weburl.Parse("http://page.example/data")
	if err != nil {
		t.Fatal(err)
	}
	usual, strict := new(fetcher.Fetcher), new(fetcher.Fetcher)
	access := &Access{fetcher: usual, strict: strict}
	v := &visit{fetchState: &FetchState{Accesses: Accesses{access}}, lease: &scheduler.Lease{Place: scheduler.Place{Host: u.HostKey()}}, access: access}
	for public, want := range map[bool]*fetcher.Fetcher{true: strict, false: usual} {
		by, err := (&pageRequests{visit: v, public: public}).by(u)
		if err != nil || by.fetcher != want {
			t.Errorf("public %t: its own server is not asked as it should be: %v", public, err)
		}
	}
}
