package documents

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

func TestAnswers(t *testing.T) {
	page := extract.Page{Title: "<&>\u2028", Metas: []extract.Meta{{Name: "a", Content: "\"b\""}}, Links: []extract.Link{{Href: "x", NoFollow: true}}}
	for _, failed := range []*Error{nil, {TooLarge, "words"}} {
		var b bytes.Buffer
		if err := writeAnswer(&b, &page, failed); err != nil {
			t.Fatal(err)
		}
		kind, payload, err := readFrame(&b, maxAnswer)
		if err != nil {
			t.Fatal(err)
		}
		var got extract.Page
		err = parseAnswer(kind, payload, &got)
		if failed == nil && (err != nil || !cmp.Equal(page, got)) {
			t.Errorf("got %v, %s", err, cmp.Diff(page, got))
		}
		if failed != nil && !cmp.Equal(error(failed), err) {
			t.Errorf("got %v, want %v", err, failed)
		}
	}
}

// TestServeBadRequests: a worker that is told nonsense ends with an error.
func TestServeBadRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		fine bool
	}{
		"nothing":          {"", true},
		"half a header":    {"r\x00\x00", false},
		"half a body":      {"r\x00\x00\x00\x09pdf\x00", false},
		"no request":       {"x\x00\x00\x00\x00", false},
		"too long":         {"r\xff\xff\xff\xff", false},
		"no kind":          {"r\x00\x00\x00\x03pdf", false},
		"no order":         {"r\x00\x00\x00\x05pdf\x00x", false},
		"a good one, then": {"r\x00\x00\x00\x06rtf\x00\x00xy", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := io.Reader(strings.NewReader(tt.in))
			if name == "no kind" || name == "no order" { // the end of the input would be told first
				rest, end := io.Pipe()
				defer end.Close()
				in = io.MultiReader(in, rest)
			}
			if err := Serve(in, io.Discard, time.Second, &fakeReader{}); (err == nil) != tt.fine {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x05pdf\x00x"))
	f.Add([]byte("p\x00\x00\x00\x02{}"))
	f.Add([]byte("e\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		kind, payload, err := readFrame(bytes.NewReader(in), 1<<20)
		if err != nil {
			return
		}
		if len(payload) > len(in)-5 {
			t.Errorf("%d bytes out of %d", len(payload), len(in))
		}
		_ = parseAnswer(kind, payload, new(extract.Page))
		_, _ = parseRequest(payload)
	})
}
