package pushtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
)

// Index contains the text of each document that a target's indexer has stored safely.
type Index map[string]string

// OpenedTarget is a target under test.
type OpenedTarget struct {
	Target push.Target
	// Safe reads the documents that the indexer would keep if it were killed.
	Safe func() Index
	// Reopen closes the target and opens it again, as after a restart.
	Reopen func() push.Target
}

// TestTarget is the suite for implementations of push.Target. open returns a new one for each test, with an empty
// indexer that responds.
func TestTarget(t *testing.T, open func(t *testing.T) OpenedTarget) {
	tests := map[string]func(t *testing.T, o OpenedTarget){
		"nothing":      testNothing,
		"order":        testTargetOrder,
		"repeat":       testRepeat,
		"reopen":       testTargetReopen,
		"hostile text": testHostile,
		"cancelled":    testCancelled,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := open(t)
			test(t, o)
			if err := o.Target.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
}

// Numbered sets the sequence numbers of entries, starting at first.
func Numbered(first uint64, es ...push.Entry) []push.Entry {
	for i := range es {
		es[i].Seq = first + uint64(i)
	}
	return es
}

// Doc and Del are short for entries in tests.
func Doc(url, text string) push.Entry {
	return DocumentEntry(push.Document{URL: url, Text: text})
}

// Del returns the entry of a deletion.
func Del(url string) push.Entry {
	return DeletionEntry(push.Deletion{URL: url, Reason: "404"})
}

func (o OpenedTarget) push(t *testing.T, es []push.Entry) {
	t.Helper()
	refused, err := o.Target.Push(t.Context(), es)
	if err != nil || len(refused) > 0 {
		t.Fatalf("Push: %v, refused %v", err, refused)
	}
}

func (o OpenedTarget) checkpoint(t *testing.T, seq uint64, want Index) {
	t.Helper()
	if err := o.Target.Checkpoint(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, o.Safe()); diff != "" {
		t.Errorf("safe after checkpoint %d (-want +got):\n%s", seq, diff)
	}
}

func testNothing(t *testing.T, o OpenedTarget) {
	if o.Target.Name() == "" {
		t.Error("the target has no name")
	}
	o.push(t, nil)
	o.checkpoint(t, 0, Index{})
	o.checkpoint(t, 0, Index{})
}

func testTargetOrder(t *testing.T, o OpenedTarget) {
	o.push(t, Numbered(1,
		Doc("http://h/a", "a1"), Doc("http://h/b", "b1"), Del("http://h/a"),
		Doc("http://h/b", "b2"), Doc("http://h/b", "b3"), Doc("http://h/a", "a2"), Del("http://h/b"),
		Doc("http://h/c", "c1"), Del("http://h/never")))
	o.checkpoint(t, 9, Index{"http://h/a": "a2", "http://h/c": "c1"})
	o.push(t, Numbered(10, Del("http://h/a"), Doc("http://h/b", "b4"), Del("http://h/c"), Doc("http://h/c", "c2")))
	o.checkpoint(t, 13, Index{"http://h/b": "b4", "http://h/c": "c2"})
}

func testRepeat(t *testing.T, o OpenedTarget) {
	es := Numbered(1, Doc("http://h/a", "a1"), Doc("http://h/b", "b1"), Del("http://h/a"))
	for range 3 {
		o.push(t, es)
		o.checkpoint(t, 3, Index{"http://h/b": "b1"})
	}
}

func testTargetReopen(t *testing.T, o OpenedTarget) {
	o.push(t, Numbered(1, Doc("http://h/a", "a1"), Doc("http://h/b", "b1")))
	o.checkpoint(t, 2, Index{"http://h/a": "a1", "http://h/b": "b1"})
	for i := range uint64(3) {
		o.Target = o.Reopen()
		o.push(t, Numbered(3+i, Doc("http://h/a", fmt.Sprint("again ", i))))
		o.checkpoint(t, 3+i, Index{"http://h/a": fmt.Sprint("again ", i), "http://h/b": "b1"})
	}
}

func testHostile(t *testing.T, o OpenedTarget) {
	texts := Index{
		"http://h/?a=b&c=d#\"quoted\"":          "line\r\nline\n--boundary\r\n\r\n",
		"http://h/\u00e9\u4e2d/%00%0a":          "\u2028 \x00 \x1b \ufffd </script> &amp;",
		"http://h/" + strings.Repeat("x", 2000): strings.Repeat("long ", 100_000),
		"http://h/empty":                        "",
	}
	var es []push.Entry
	for url, text := range texts {
		d := push.Document{URL: url, Text: text, Title: text[:min(len(text), 40)], ContentType: "text/html\r\nX: y", Charset: "\"", Metas: map[string][]string{
			"a\"b\r\nc": {text[:min(len(text), 40)], ""}, "": {"x"}, "a:b;c=d": nil,
		}}
		es = append(es, DocumentEntry(d))
	}
	o.push(t, Numbered(1, es...))
	o.checkpoint(t, uint64(len(es)), texts)
}

func testCancelled(t *testing.T, o OpenedTarget) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Target.Push(ctx, Numbered(1, Doc("http://h/a", "a1"))); !errors.Is(err, context.Canceled) {
		t.Errorf("Push with a context that ended: %v", err)
	}
	if err := o.Target.Checkpoint(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Checkpoint with a context that ended: %v", err)
	}
	o.push(t, Numbered(1, Doc("http://h/a", "a1")))
	o.checkpoint(t, 1, Index{"http://h/a": "a1"})
}

// TextOf returns the text in an Add's body.
func TextOf(body []byte) (string, error) {
	var d push.Document
	err := json.Unmarshal(body, &d)
	return d.Text, err
}
