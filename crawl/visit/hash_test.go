package visit

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/push"
)

// TestDocumentHash: what is stored in records stays what it is, whatever was hashed before,
// and no text is copied for it.
func TestDocumentHash(t *testing.T) {
	d := push.Document{Title: "t", Text: strings.Repeat("some text, ", 500), ContentType: "text/html", Source: "s", Metas: map[string][]string{"a": {"b", "c"}}}
	for range 3 {
		if sum := documentHash(d, []byte("x")); hex.EncodeToString(sum[:4]) != "23884e42" {
			t.Errorf("the hash is %x", sum[:4])
		}
		documentHash(push.Document{Text: "other"}, nil)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 200
	for range runs {
		documentHash(d, nil)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / runs; n > uint64(len(d.Text))/2 {
		t.Errorf("%d bytes for the hash of a text of %d", n, len(d.Text))
	}
}
