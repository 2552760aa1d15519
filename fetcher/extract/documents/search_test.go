package documents

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
)

func orderOf(selectors ...string) *tree.Order {
	o := &tree.Order{ContentType: "text/html; charset=utf-8"}
	for _, s := range selectors {
		o.Picks = append(o.Picks, tree.Pick{Select: s})
	}
	return o
}

func TestSearch(t *testing.T) {
	p := newPool(t, fakeWorkers(1, patience, patience))
	found, err := p.Search(t.Context(), orderOf("css:.price", "xpath://h1", "css:.none"), []byte(`<h1>Lamp &eacute;</h1><p class=price>12 €`))
	want := tree.Found{Picked: []tree.Picked{{Values: []string{"12 €"}}, {Values: []string{"Lamp é"}}, {}}}
	if err != nil || !cmp.Equal(found, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, found))
	}
	wantRead(t, p, "1") // documents are read by the same worker
}

// TestHostilePages: a page that no selector ends in costs its worker, and nothing else.
func TestHostilePages(t *testing.T) {
	deep := strings.Repeat("<div>", 100_000) // 500 kB
	nested := strings.Repeat(strings.Repeat("<div>", 500)+strings.Repeat("</div>", 500), 80)
	for name, tt := range map[string]struct {
		body   string
		order  *tree.Order
		reason Reason
	}{
		"100,000 deep":         {deep, orderOf("css:div div div div div div"), TooDeep},
		"CSS without an end":   {nested, orderOf("css:i div div div div div div"), TooSlow},
		"XPath without an end": {nested, orderOf("xpath://*//*//*[not(//*//*//*//*[.='x'])]"), TooSlow},
	} {
		t.Run(name, func(t *testing.T) {
			hard := patience
			if tt.reason == TooSlow {
				hard = time.Second
			}
			p := newPool(t, fakeWorkers(1, patience, hard))
			_, err := p.Search(t.Context(), tt.order, []byte(tt.body))
			if failed, ok := errors.AsType[*Error](err); !ok || failed.Reason != tt.reason {
				t.Errorf("got %v, want the reason %s", err, tt.reason)
			}
			p.Set(fakeWorkers(1, patience, patience))
			if found, err := p.Search(t.Context(), orderOf("css:p"), []byte("<p>after")); err != nil || found.Picked[0].Values[0] != "after" {
				t.Errorf("the next page: %+v, %v", found, err)
			}
		})
	}
}
