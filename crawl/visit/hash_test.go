package visit

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/push"
)

func hashed() push.Document {
	return push.Document{Title: "t", Text: strings.Repeat("some text, ", 500), ContentType: "text/html", Source: "s", Metas: map[string][]string{"a": {"b", "c"}}}
}

// TestDocumentHash pins the stored form: under one key the hash stays what it is, whatever was hashed before. Another
// key gives another one, and no text is copied for it.
func TestDocumentHash(t *testing.T) {
	d, h := hashed(), newHasher(HashKey{1})
	for range 3 {
		if sum := h.document(&d, []byte("x")); hex.EncodeToString(sum[:4]) != "ac1ca45c" {
			t.Errorf("the hash is %x", sum[:4])
		}
		h.document(&push.Document{Text: "other"}, nil)
	}
	if newHasher(HashKey{2}).document(&d, nil) == h.document(&d, nil) {
		t.Error("another key gives the same hash")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 200
	for range runs {
		h.document(&d, nil)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / runs; n > uint64(len(d.Text))/2 {
		t.Errorf("%d bytes for the hash of a text of %d", n, len(d.Text))
	}
}

// TestDocumentHashCovers: each part of a document that an index shows changes its hash, and no part can pass for
// another one.
func TestDocumentHashCovers(t *testing.T) {
	h := newHasher(HashKey{1})
	seen := map[[16]byte]string{}
	for name, change := range map[string]func(*push.Document){
		"nothing": func(*push.Document) {}, "title": func(d *push.Document) { d.Title = "u" },
		"text": func(d *push.Document) { d.Text += "." }, "type": func(d *push.Document) { d.ContentType = "text/plain" },
		"language": func(d *push.Document) { d.Language = "en" }, "source": func(d *push.Document) { d.Source = "" },
		"meta": func(d *push.Document) { d.Metas["a"] = []string{"bc"} }, "name": func(d *push.Document) { d.Metas["a2"] = nil },
		"alias": func(d *push.Document) { d.Metas["alias"] = []string{"b"} }, "another alias": func(d *push.Document) { d.Metas["alias"] = []string{"c"} },
		"name as a value": func(d *push.Document) { d.Metas["a"] = []string{"b", "c", "e", "f"} },
		"value as a name": func(d *push.Document) { d.Metas["e"] = []string{"f"} },
		"border":          func(d *push.Document) { d.Title, d.Text = d.Title+d.Text[:1], d.Text[1:] },
	} {
		d := hashed()
		change(&d)
		sum := h.document(&d, nil)
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s give one hash", name, other)
		}
		seen[sum] = name
	}
}

// TestAliasesAreNoContent: an alias changes the end of the hash alone.
func TestAliasesAreNoContent(t *testing.T) {
	h, d := newHasher(HashKey{1}), hashed()
	plain := h.document(&d, nil)
	d.Metas[aliasMeta] = []string{"http://h/a"}
	with := h.document(&d, nil)
	if n := len(plain) - copies.AliasBytes; with == plain || [16 - copies.AliasBytes]byte(with[:n]) != [16 - copies.AliasBytes]byte(plain[:n]) {
		t.Errorf("%x with an alias, %x without", with, plain)
	}
}
