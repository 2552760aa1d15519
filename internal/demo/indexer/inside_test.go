package indexer

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestSlowWaitsAndGivesUpWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{script: newScript(Fail{Slow: time.Minute})}
		begin := time.Now()
		if err := s.follow(t.Context(), s.script.next(false), &http.Request{}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(begin); waited != time.Minute {
			t.Errorf("waited %v, want 1m", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.follow(ctx, s.script.next(false), &http.Request{}); err == nil {
			t.Error("no error though the caller is gone")
		}
		if waited := time.Since(begin); waited != time.Minute+time.Second {
			t.Errorf("waited %v in all", waited)
		}
	})
}

// FuzzParseDocuments: no panic, and what is accepted is whole, valid and small.
func FuzzParseDocuments(f *testing.F) {
	seed := strings.ReplaceAll(`--b
Content-Disposition: form-data; name="PAPI_1:uri"

http://a/1
--b
Content-Disposition: form-data; name="PAPI_1:meta:title"; filename=""

T
--b
Content-Disposition: form-data; name="PAPI_1:part_bytes:master"; filename=""
Content-Type: text/html; charset=iso-8859-1

<title>x</title><p>text
--b--
`, "\n", "\r\n")
	f.Add([]byte(seed))
	f.Add([]byte(strings.Replace(seed, "text/html", "text/plain", 1)))
	f.Add([]byte(strings.Replace(seed, "meta:title", "part_directive:master:encoding", 1)))
	f.Add([]byte(seed[:len(seed)/2]))
	f.Add([]byte("--b--"))
	f.Fuzz(func(t *testing.T, body []byte) {
		docs, err := parseDocuments(bytes.NewReader(body), "b", 100)
		if err != nil {
			if docs != nil {
				t.Fatal("documents beside an error")
			}
			return
		}
		if len(docs) == 0 {
			t.Fatal("no document and no error")
		}
		for _, d := range docs {
			if err := checkURI(d.URL); err != nil {
				t.Errorf("accepted: %v", err)
			}
			if len(d.Text) > 3*maxText || strings.ToValidUTF8(d.Text, "") != d.Text || strings.ToValidUTF8(d.Title, "") != d.Title {
				t.Errorf("text %q, title %q", d.Text, d.Title)
			}
		}
	})
}

// TestPendingFoldsAsReplayed compares a connector's folded operations with the same
// operations replayed one by one on a set.
func TestPendingFoldsAsReplayed(t *testing.T) {
	uris := []string{"a", "a/", "a/b", "a/b/c", "ab", "d"}
	seeded.Check(t, func(t *rapid.T) {
		synced := map[string]bool{}
		for _, uri := range rapid.SliceOfDistinct(rapid.SampledFrom(uris), rapid.ID[string]).Draw(t, "synced") {
			synced[uri] = true
		}
		model := map[string]bool{}
		for uri := range synced {
			model[uri] = true
		}
		c := newConnector("c", state{})
		var grown int64
		for range rapid.IntRange(0, 12).Draw(t, "operations") {
			uri := rapid.SampledFrom(uris).Draw(t, "uri")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				grown += c.put(uri, &document{URL: uri, Text: strings.Repeat("x", rapid.IntRange(0, 9).Draw(t, "size"))})
				model[uri] = true
			case 1:
				grown += c.put(uri, nil)
				delete(model, uri)
			case 2:
				root := newRootPath(uri, rapid.Bool().Draw(t, "recursive"))
				grown += c.deleteRoot(root)
				for other := range model {
					if root.matches(other) {
						delete(model, other)
					}
				}
			}
		}
		got := map[string]bool{} // as store.apply does it
		for uri := range synced {
			if !c.rootsCover(uri) {
				got[uri] = true
			}
		}
		bytes := int64(0)
		for uri, d := range c.last {
			bytes += cost(uri, d)
			delete(got, uri)
			if d != nil {
				got[uri] = true
			}
		}
		for _, root := range c.roots {
			bytes += int64(len(root.path)) + operationBytes
		}
		if diff := cmp.Diff(model, got); diff != "" {
			t.Fatalf("(-replayed +folded):\n%s", diff)
		}
		if c.bytes != bytes || grown != bytes {
			t.Fatalf("bytes counted %d, grown %d, are %d", c.bytes, grown, bytes)
		}
	})
}

func TestTailReaderKeepsTheEnd(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "whole")
		keep := rapid.IntRange(1, 100).Draw(t, "keep")
		tail := &tailReader{r: bytes.NewReader(whole), last: make([]byte, 0, keep)}
		for {
			p := make([]byte, rapid.IntRange(1, 120).Draw(t, "read"))
			if _, err := tail.Read(p); err != nil {
				break
			}
		}
		if want := whole[max(0, len(whole)-keep):]; !bytes.Equal(tail.last, want) {
			t.Fatalf("kept %v, want %v", tail.last, want)
		}
	})
}

func TestTerms(t *testing.T) {
	tests := map[string]struct{ must, not []string }{
		"":                             {nil, nil},
		" a  b ":                       {[]string{"a", "b"}, nil},
		`"a phrase" -out -"two words"`: {[]string{"a phrase"}, []string{"out", "two words"}},
		`"unclosed phrase`:             {[]string{"unclosed phrase"}, nil},
		`- "" -""`:                     {nil, nil},
		"foo-bar":                      {[]string{"foo-bar"}, nil},
	}
	for q, want := range tests {
		must, not := terms(q)
		if diff := cmp.Diff([][]string{want.must, want.not}, [][]string{must, not}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", q, diff)
		}
	}
	if must, _ := terms(strings.Repeat("a ", 1000)); len(must) != maxTerms {
		t.Errorf("%d terms of a long query, want %d", len(must), maxTerms)
	}
}

func FuzzTerms(f *testing.F) {
	f.Add(`a "b c" -d`)
	f.Add(`-"`)
	f.Fuzz(func(t *testing.T, q string) {
		must, not := terms(q)
		for _, term := range append(must, not...) {
			if strings.TrimSpace(term) == "" || !strings.Contains(q, term) {
				t.Errorf("%q: term %q", q, term)
			}
		}
	})
}

// A long text ends between two characters.
func TestLongTextOfFields(t *testing.T) {
	d, err := fromFields(map[string]any{"text": strings.Repeat("x", maxText-1) + "é and more"})
	if err != nil || d.Text != strings.Repeat("x", maxText-1) {
		t.Errorf("%d bytes with the end %q, %v", len(d.Text), d.Text[len(d.Text)-3:], err)
	}
}

// The last keys are known, whenever others were forgotten.
func TestLastKeysAreKnown(t *testing.T) {
	s := &Server{keys: map[string]remembered{}}
	for i := range 5 * maxKeys / 2 {
		s.remember(strconv.Itoa(i), remembered{answer: hookAnswer{Accepted: i}})
		for _, back := range []int{0, 1, maxKeys - 1} {
			if r, ok := s.recall(strconv.Itoa(i - back)); i >= back && (!ok || r.answer.Accepted != i-back) {
				t.Fatalf("after %d keys the one %d before is not known", i+1, back)
			}
		}
	}
	if n := len(s.keys) + len(s.older); n > 2*maxKeys {
		t.Errorf("%d keys are known", n)
	}
}

func TestGravesAreBounded(t *testing.T) {
	g := graves{}
	for i := range maxGraves + 1 {
		g.note(strconv.Itoa(i), int64(i), true)
	}
	if len(g) != maxGraves/2+1 {
		t.Errorf("%d are kept after there was no room", len(g))
	}
	if v, ok := g.version(strconv.Itoa(maxGraves)); !ok || v != maxGraves {
		t.Errorf("the last one is %d, %t", v, ok)
	}
}
