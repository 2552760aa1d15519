package policy

import (
	"testing"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestJudgesKnown: links to known URLs are judged where depths or other names of URLs count.
func TestJudgesKnown(t *testing.T) {
	for name, c := range map[string]struct {
		space crawlspace.Settings
		want  bool
	}{
		"no gates":     {crawlspace.Settings{}, false},
		"link depth":   {crawlspace.Settings{MaxLinkDepth: &crawlspace.Limit{Max: 9}}, true},
		"query filter": {crawlspace.Settings{QueryFilter: &crawlspace.Text{Value: "id"}}, true},
		"canonical": {crawlspace.Settings{Canonical: &crawlspace.Canonical{
			Options: weburl.Options{DropTracking: true}}}, true},
		"canonical, nothing on": {crawlspace.Settings{Canonical: &crawlspace.Canonical{}}, false},
	} {
		s := everything()
		s.Space = c.space
		p, err := New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.JudgesKnown(); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
