package policy

import (
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestRedirectKeepsTheShift: a redirect's target keeps the shift of its source
// unless a rule gives it its own, which may be 0.
func TestRedirectKeepsTheShift(t *testing.T) {
	priority := func(path string, shift int) actionrules.Rule {
		return actionrules.Rule{
			If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: path},
			Then: []actionrules.Action{{Verb: actionrules.Priority, Shift: shift}},
		}
	}
	rules := actionrules.RuleSet{
		DefaultAccept: true, DefaultIndex: true, DefaultFollow: true,
		Rules: []actionrules.Rule{priority("/normal", 0), priority("/low", 2)},
	}
	p, err := Stored(t.Context(), Settings{Rules: rules}, teststore.New(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path         string
		source, want int8
	}{{"/", 0, 0}, {"/", -2, -2}, {"/normal", -2, 0}, {"/low", -1, 2}} {
		u, err := weburl.Parse("http://a.test" + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		l, _, ok := p.RedirectLink(crawlspace.Link{URL: u}, tt.source)
		if !ok || l.Shift != tt.want {
			t.Errorf("target %s of a source with shift %d: shift %d (crawled %v), want %d", tt.path, tt.source, l.Shift, ok, tt.want)
		}
	}
}
