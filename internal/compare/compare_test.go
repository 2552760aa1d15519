package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// setOf has URLs, with the number behind a # as their stamp.
func setOf(urls []string) Set {
	return func(fn func(url, stamp string) error) error {
		for _, u := range urls {
			url, stamp, _ := strings.Cut(u, "#")
			if err := fn(url, stamp); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestRun: with any bound of memory the differences are those of two plain sets.
func TestRun(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		url := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("http://h/", rapid.IntRange(0, 200).Draw(t, "n")) })
		stored := rapid.SliceOfN(url, 0, 150).Draw(t, "stored")
		indexed := rapid.SliceOfN(url, 0, 150).Draw(t, "indexed")
		missing, foreign := []string{}, []string{}
		c, err := Run(setOf(stored), setOf(indexed), rapid.IntRange(2, 200).Draw(t, "keys"),
			func(u string) error { missing = append(missing, u); return nil },
			func(u string) error { foreign = append(foreign, u); return nil },
			func(u string) error { t.Errorf("%s is different", u); return nil })
		if err != nil {
			t.Fatal(err)
		}
		foreign = unique(foreign) // named as often as they are listed
		a, b := unique(stored), unique(indexed)
		wantMissing := slices.DeleteFunc(slices.Clone(a), func(u string) bool { return slices.Contains(b, u) })
		wantForeign := slices.DeleteFunc(slices.Clone(b), func(u string) bool { return slices.Contains(a, u) })
		slices.Sort(missing)
		if diff := cmp.Diff([][]string{wantMissing, wantForeign}, [][]string{missing, foreign}); diff != "" {
			t.Errorf("missing, foreign (-want +got):\n%s", diff)
		}
		if int(c.Stored) != len(a) || int(c.Missing) != len(wantMissing) {
			t.Errorf("counts %+v of %d and %d", c, len(a), len(b))
		}
	})
}

func unique(urls []string) []string {
	out := append([]string{}, urls...)
	slices.Sort(out)
	return slices.Compact(out)
}

// TestDifferent: documents of both sets with other stamps are found, with any bound of memory; an unknown one is
// ignored.
func TestDifferent(t *testing.T) {
	var stored, indexed, want []string
	for i := range 100 {
		url := fmt.Sprint("http://h/", i)
		stored = append(stored, url+"#1")
		switch i % 4 {
		case 0:
			indexed, want = append(indexed, url+"#2"), append(want, url)
		case 1:
			indexed = append(indexed, url)
		default:
			indexed = append(indexed, url+"#1")
		}
	}
	slices.Sort(want)
	for _, keys := range []int{2, 7, 0} {
		var got []string
		none := func(u string) error { t.Errorf("%s is in one of them only", u); return nil }
		c, err := Run(setOf(stored), setOf(indexed), keys, none, none,
			func(u string) error { got = append(got, u); return nil })
		if slices.Sort(got); err != nil || c.Different != 25 || !cmp.Equal(got, want) {
			t.Errorf("%d keys: %v, %+v: %v", keys, err, c, got)
		}
	}
}

func TestRunEnds(t *testing.T) {
	broken := errors.New("broken")
	fail := func(string) error { return broken }
	bad := func(func(url, stamp string) error) error { return broken }
	ignore := func(string) error { return nil }
	for name, run := range map[string]func() (Counts, error){
		"stored":  func() (Counts, error) { return Run(bad, setOf(nil), 0, ignore, ignore, ignore) },
		"indexed": func() (Counts, error) { return Run(setOf(nil), bad, 0, ignore, ignore, ignore) },
		"missing": func() (Counts, error) { return Run(setOf([]string{"a"}), setOf(nil), 0, fail, ignore, ignore) },
		"foreign": func() (Counts, error) { return Run(setOf(nil), setOf([]string{"a"}), 0, ignore, fail, ignore) },
		"different": func() (Counts, error) {
			return Run(setOf([]string{"a#1"}), setOf([]string{"a#2"}), 0, ignore, ignore, fail)
		},
	} {
		if _, err := run(); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
