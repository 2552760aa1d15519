package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/service"
)

// TestSummaryText: counts of one are singular, and counts of zero are omitted.
func TestSummaryText(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   service.CrawlSummary
		want []string
	}{
		{"nothing left", service.CrawlSummary{Crawler: "a", Pages: 1, Known: 1200, Indexed: 2}, []string{
			"a: 1 page fetched, 1,200 URLs known, 2 documents indexed (0 permanent and 0 temporary errors)",
		}},
		{"one of each", service.CrawlSummary{Crawler: "a", NotDone: service.NotDone{Waiting: 1, Unsent: 1}, Later: service.Later{Timed: 1, FifosOff: 1, Pending: 1, DeadLetters: 1}}, []string{
			"a: 0 pages fetched, 0 URLs known, 0 documents indexed (0 permanent and 0 temporary errors)",
			"not done: 1 URL waiting, 1 order unsent",
			"for later: 1 retry or refresh, 1 URL in a fifo of weight 0, 1 deletion, new text or move pending, 1 dead letter",
		}},
		{"several", service.CrawlSummary{Crawler: "a", NotDone: service.NotDone{Waiting: 1500, Copies: 2}, Later: service.Later{Pending: 2, DeadLetters: 3}}, []string{
			"a: 0 pages fetched, 0 URLs known, 0 documents indexed (0 permanent and 0 temporary errors)",
			"not done: 1,500 URLs waiting, 2 of them to replace documents that left",
			"for later: 2 deletions, new texts or moves pending, 3 dead letters",
		}},
		{"a bot wall", service.CrawlSummary{Crawler: "a", BotWalls: 1}, []string{
			"a: 0 pages fetched, 0 URLs known, 0 documents indexed (0 permanent and 0 temporary errors)",
			"bot walls: 1 response in place of a site's, see sextant urls --reason bot_wall",
		}},
		{"no figures", service.CrawlSummary{Crawler: "a", Error: "the disk is gone"}, []string{"a: the figures cannot be read: the disk is gone"}},
	} {
		var out strings.Builder
		err := texts(&out, unpainted)("summary", &tt.in)
		if diff := cmp.Diff(strings.Join(tt.want, "\n")+"\n", out.String()); diff != "" || err != nil {
			t.Errorf("%s: %s%v", tt.name, diff, err)
		}
	}
}
