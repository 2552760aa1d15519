package crawl

import (
	"fmt"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// BenchmarkPass judges 100,000 stored URLs by 100 rules, of which the change
// excludes none or every second.
func BenchmarkPass(b *testing.B) {
	urls := 100_000
	if testing.Short() {
		urls = 2000
	}
	for name, exclude := range map[string]string{"unaffected": "nothing", "half excluded": "regexp:[02468]$"} {
		b.Run(name, func(b *testing.B) {
			store, err := badgerstore.Open(b.TempDir(), badgerstore.Options{MinFree: -1})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = store.Close() }() // nothing of it is kept
			seed(b, store, urls)
			s := everything()
			for i := range 100 {
				s.Rules.Rules = append(s.Rules.Rules, actionrules.Rule{
					If:   actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindPrefix, Norm: actionrules.NormNorm, Value: fmt.Sprintf("/no%d", i)},
					Then: []actionrules.Action{{Verb: actionrules.Ignore}},
				})
			}
			judged := 0
			for b.Loop() {
				b.StopTimer()
				s.Space.Exclude = text(exclude)
				if judged > 0 && judged/urls%2 == 1 {
					s.Space.Exclude = text("nothing else")
				}
				c := newPassCrawl(b, s, store)
				if err := c.start(b.Context(), false); err != nil {
					b.Fatal(err)
				}
				p := c.policy()
				b.StartTimer()
				for {
					due, err := c.reviewer.Next(b.Context(), p)
					if err != nil {
						b.Fatal(err)
					}
					if !due {
						break
					}
				}
				judged += urls
			}
			b.ReportMetric(float64(judged)/b.Elapsed().Seconds(), "urls/s")
		})
	}
}
