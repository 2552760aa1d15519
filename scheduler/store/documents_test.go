package store

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestDocumentsSample draws documents that come and go: the sample holds only documents, in order, and the lowest ones
// as long as it has lost none.
func TestDocumentsSample(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		var d record.Documents
		are := map[weburl.Key]bool{}
		lost := false
		for _, n := range rapid.SliceOfN(rapid.Uint8Range(0, 50), 1, 200).Draw(t, "changes") {
			k := weburl.Key{n}
			full := d.Len() == scheduler.DocumentSample
			if are[k] {
				_, sampled := d.Find(k)
				lost = lost || sampled && full
				d = d.Drop(k)
				delete(are, k)
				d.Count--
			} else {
				are[k] = true
				d.Count++
				d = d.Offer(k)
			}
			var keys []weburl.Key
			for k := range are {
				keys = append(keys, k)
			}
			slices.SortFunc(keys, func(a, b weburl.Key) int { return bytes.Compare(a[:], b[:]) })
			got := d.Host().Sample
			if !lost && !slices.Equal(got, keys[:min(len(keys), scheduler.DocumentSample)]) {
				t.Fatalf("sample %v of %v", got, keys)
			}
			for _, k := range got {
				if !are[k] {
					t.Fatalf("%v is no document", k)
				}
			}
			if v := d.Append(nil); d.Count > 0 {
				if again, err := record.DecodeDocuments(v); err != nil || !bytes.Equal(again.Sample, d.Sample) || again.Count != d.Count {
					t.Fatalf("%v: %+v is read as %+v", err, d, again)
				}
			}
		}
	})
}

// TestSampleGrowsAgain: documents that are visited take the places that others have left.
func TestSampleGrowsAgain(t *testing.T) {
	b := newBench(t, "x")
	const n = 60
	url := func(i int) string { return fmt.Sprintf("http://a.test/%d", i) }
	host := parse(t, url(0)).HostKey()
	sample := func() []weburl.Key {
		docs, err := b.s.Documents(t.Context(), host)
		b.must(err)
		return docs.Sample
	}
	for i := range n {
		b.crawl(url(i), document("d"))
	}
	low := sample()
	for i := range n {
		if slices.Contains(low, parse(t, url(i)).Key()) {
			b.crawl(url(i), deletion(), func(c *scheduler.Completion) { c.Next.Indexed = false })
		}
	}
	if got := sample(); len(got) != 0 {
		t.Fatalf("the sample has %d keys", len(got))
	}
	for i := range n {
		b.crawl(url(i), nil)
	}
	if got := sample(); len(got) != scheduler.DocumentSample {
		t.Errorf("the sample has %d keys after all were visited", len(got))
	}
	mustVerify(t, b.s)
}

// TestDocumentsCostNoRead: a host's documents are cached, and a page that stays a document needs no read.
func TestDocumentsCostNoRead(t *testing.T) {
	s := openStore(t, t.TempDir(), quick)
	h := weburl.HostKey{1}
	document, none := scheduler.Record{Host: h, Indexed: true}, scheduler.Record{Host: h}
	follow := func(n byte, old, next *scheduler.Record) func(*group) error {
		return func(g *group) error { return g.documented(weburl.Key{n}, old, next) }
	}
	if err := s.change(t.Context(), follow(1, &none, &document)); err != nil {
		t.Fatal(err)
	}
	if err := s.changeAlone(t.Context(), func(g *group) error {
		put(t, s, record.DocumentsKey(h), []byte("garbage")) // who reads it fails
		if err := g.documented(weburl.Key{1}, &document, &document); err != nil {
			return err
		}
		if g.batch.count > 0 {
			t.Error("a document that stays one is written")
		}
		return g.documented(weburl.Key{2}, &none, &document)
	}); err != nil {
		t.Fatal(err)
	}
	docs, err := s.Documents(t.Context(), h)
	if err != nil || docs.Count != 2 || len(docs.Sample) != 2 {
		t.Errorf("documents %+v, %v", docs, err)
	}
	for n := byte(1); n <= 2; n++ {
		if err := s.change(t.Context(), follow(n, &document, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.change(t.Context(), follow(3, &document, &none)); err == nil {
		t.Error("one document more went than there were, and no error was given")
	}
}

// TestLostDocumentsVerify: Verify counts lost documents as the store does, whatever else their records say.
func TestLostDocumentsVerify(t *testing.T) {
	b := newBench(t, "x")
	lost := func(c *scheduler.Completion) { c.Next.LostAt = time.Unix(1e9, 0) }
	b.crawl("http://a.test/1", document("one"), lost)
	b.crawl("http://a.test/2", deletion(), lost)
	b.crawl("http://b.test/1", deletion(), lost)
	mustVerify(t, b.s)
	b.crawl("http://b.test/1", nil, func(c *scheduler.Completion) { c.Next.LostAt = time.Time{} })
	for url, want := range map[string]scheduler.HostDocuments{"http://a.test/": {Count: 1, Lost: 2}, "http://b.test/": {}} {
		docs, err := b.s.Documents(t.Context(), parse(t, url).HostKey())
		b.must(err)
		if docs.Count != want.Count || docs.Lost != want.Lost {
			t.Errorf("%s: %+v, want %+v", url, docs, want)
		}
	}
}
