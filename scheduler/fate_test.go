package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFateWords(t *testing.T) {
	var got []string
	for _, f := range Fates() {
		got = append(got, f.String())
		if f.InIndex() != (f == FateIndexed || f == FatePendingLoss) {
			t.Errorf("%v: in the index %t", f, f.InIndex())
		}
	}
	want := []string{
		"indexed", "deletion_pending", "body_lost", "pending", "noindex_page", "noindex_rule", "kill_list", "excluded", "elsewhere", "robots", "address",
		"duplicate", "near_duplicate", "canonical", "redirect", "temporary_error", "permanent_error", "feed", "no_document",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fates (-want +got):\n%s", d)
	}
	if fatesEnd.String() != "unknown" {
		t.Errorf("no fate is %v", fatesEnd)
	}
}

// TestFate: every reason with every class, a loss pending and not, of documents, pages and sources.
func TestFate(t *testing.T) {
	fates := map[Reason]Fate{ // by the reason, whichever class a page without a document has that was read or excluded
		ReasonElsewhere: FateElsewhere, ReasonRobots: FateRobots, ReasonAddress: FateAddress, ReasonKilled: FateKilled, ReasonNotIndexed: FateNoindexRule,
		ReasonNoIndex: FateNoindexPage, ReasonUnavailable: FateNoindexPage, ReasonCopy: FateDuplicate, ReasonNearCopy: FateNearDuplicate,
		ReasonCanonical: FateCanonical,
	}
	byClass := map[Class]Fate{Pending: FatePending, Redirect: FateRedirect, Temporary: FateTemporary, Permanent: FatePermanent, OK: FateNoDocument, Ignored: FateExcluded}
	byLoss := map[bool]Fate{false: FateIndexed, true: FatePendingLoss}
	for r := range reasonsEnd {
		for c := Pending; c <= Permanent; c++ {
			want, because := byClass[c], r
			if f, ok := fates[r]; ok && (c == OK || c == Ignored) {
				want = f
			}
			if c == Redirect && r != ReasonBadRedirect {
				because = ReasonRedirect
			}
			fateIs(t, Record{Class: c, Reason: r}, want, because)
			fateIs(t, Record{Class: c, Reason: r, Kind: KindItem}, want, because)
			for k := KindSitemap; k <= KindXML; k++ {
				fateIs(t, Record{Class: c, Reason: r, Kind: k}, FateSource, r)
			}
			for pending, want := range byLoss {
				if r == ReasonBodyLost && !pending {
					want = FateBodyLost
				}
				fateIs(t, Record{Class: c, Reason: r, Indexed: true, LossPending: pending}, want, r)
				fateIs(t, Record{Class: c, Reason: r, Indexed: true, LossPending: pending, Kind: KindSitemap}, want, r)
			}
		}
	}
}

func fateIs(t *testing.T, n Record, want Fate, because Reason) {
	t.Helper()
	if got, r := n.Fate(); got != want || r != because {
		t.Errorf("%v, %v, kind %v, indexed %t, loss pending %t: %v because of %v; want %v because of %v", n.Class, n.Reason, n.Kind, n.Indexed, n.LossPending, got, r, want, because)
	}
}
