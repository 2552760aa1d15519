package review

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func file(name string, lines ...string) *crawlspace.File {
	return &crawlspace.File{Name: name, Content: []byte(strings.Join(lines, "\n") + "\n")}
}

func text(s string) crawlspace.Text { return crawlspace.Text{Value: s} }

// everything accepts, indexes and follows all.
func everything() policy.Settings {
	s := policy.Settings{Frontier: scheduler.DefaultSettings()}
	s.Frontier.Deletions.Off = true
	s.Rules.DefaultAccept, s.Rules.DefaultIndex, s.Rules.DefaultFollow = true, true, true
	return s
}
