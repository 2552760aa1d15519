package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFateWords(t *testing.T) {
	var got []string
	for _, f := range Fates() {
		got = append(got, f.String())
		if f.InIndex() != (f == FateIndexed || f == FateResting || f == FateHeld) {
			t.Errorf("%v: in the index %t", f, f.InIndex())
		}
	}
	want := []string{
		"indexed", "deletion_resting", "deletion_held", "body_lost", "pending", "noindex_page", "noindex_rule", "kill_list", "excluded", "elsewhere", "robots", "address",
		"duplicate", "near_duplicate", "canonical", "redirect", "temporary_error", "permanent_error", "feed", "no_document",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fates (-want +got):\n%s", d)
	}
	if fatesEnd.String() != "unknown" {
		t.Errorf("no fate is %v", fatesEnd)
	}
}

// TestFate: every reason with every class and deletion, of documents, pages and sources.
func TestFate(t *testing.T) {
	told := map[Reason]Fate{ // by the reason, whichever class a page without a document has that was read or excluded
		ReasonElsewhere: FateElsewhere, ReasonRobots: FateRobots, ReasonAddress: FateAddress, ReasonKilled: FateKilled, ReasonNotIndexed: FateNoindexRule,
		ReasonNoIndex: FateNoindexPage, ReasonUnavailable: FateNoindexPage, ReasonCopy: FateDuplicate, ReasonNearCopy: FateNearDuplicate,
		ReasonCanonical: FateCanonical,
	}
	byClass := map[Class]Fate{Pending: FatePending, Redirect: FateRedirect, Temporary: FateTemporary, Permanent: FatePermanent, OK: FateNoDocument, Ignored: FateExcluded}
	byDeletion := map[Deletion]Fate{NoDeletion: FateIndexed, DeletionResting: FateResting, DeletionHeld: FateHeld}
	for r := range reasonsEnd {
		for c := Pending; c <= Permanent; c++ {
			want, because := byClass[c], r
			if f, ok := told[r]; ok && (c == OK || c == Ignored) {
				want = f
			}
			if c == Redirect {
				because = ReasonRedirect
			}
			fateIs(t, Record{Class: c, Reason: r}, want, because)
			fateIs(t, Record{Class: c, Reason: r, Kind: KindItem}, want, because)
			for k := KindSitemap; k <= KindXML; k++ {
				fateIs(t, Record{Class: c, Reason: r, Kind: k}, FateSource, r)
			}
			for d, want := range byDeletion {
				if r == ReasonBodyLost && d == NoDeletion {
					want = FateBodyLost
				}
				fateIs(t, Record{Class: c, Reason: r, Indexed: true, Deletion: d}, want, r)
				fateIs(t, Record{Class: c, Reason: r, Indexed: true, Deletion: d, Kind: KindSitemap}, want, r)
			}
		}
	}
}

func fateIs(t *testing.T, n Record, want Fate, because Reason) {
	t.Helper()
	if got, r := n.Fate(); got != want || r != because {
		t.Errorf("%v, %v, kind %v, indexed %t, deletion %q: %v because of %v; want %v because of %v", n.Class, n.Reason, n.Kind, n.Indexed, n.Deletion, got, r, want, because)
	}
}

func TestDeletionWords(t *testing.T) {
	for got, want := range map[string]string{
		NoDeletion.String(): "", DeletionResting.String(): "resting", DeletionHeld.String(): "held", Deletion(9).String(): "unknown",
		HeldForHost.String(): "host", HeldForAll.String(): "index", HeldIll.String(): "host_ill",
		HeldUnsure.String(): "no_answer", HeldForEdit.String(): "edit", Hold(9).String(): "unknown",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if NotHeld != 0 || HeldForHost != 1 || HeldForAll != 2 || HeldIll != 3 || HeldUnsure != 4 || HeldForEdit != 5 || DeletionResting != 1 || DeletionHeld != 2 {
		t.Error("numbers that are stored have changed")
	}
	if !KnownHold(byte(HeldForEdit)) || KnownHold(byte(holdsEnd)) {
		t.Error("KnownHold does not count")
	}
}
