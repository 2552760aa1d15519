package pushtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
)

// Opened is an outbox under test, with operations that push.Outbox does not have.
type Opened struct {
	Outbox push.Outbox
	// Put adds an entry whose Seq is ignored.
	Put func(push.Entry)
	// Dead lists a target's dead letters.
	Dead func(target string) []push.Dead
	// Reopen closes the outbox and opens its stored data; nil if it stores nothing.
	Reopen func() push.Outbox
}

// TestOutbox is the suite for implementations of push.Outbox. open returns an empty one for each test, with no targets
// open.
func TestOutbox(t *testing.T, open func(t *testing.T) Opened) {
	tests := map[string]func(t *testing.T, o Opened){
		"order and limits":    testOrder,
		"replace":             testReplace,
		"cursors":             testCursors,
		"new and gone target": testTargets,
		"dead letters":        testDead,
		"signal":              testSignal,
		"reopen":              testReopen,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

const plenty = 1 << 20

func (o Opened) add(url, text string) {
	o.Put(DocumentEntry(push.Document{URL: url, Source: "s", Text: text}))
}

func (o Opened) open(t *testing.T, targets ...string) {
	t.Helper()
	if err := o.Outbox.Open(t.Context(), targets); err != nil {
		t.Fatal(err)
	}
}

func (o Opened) safe(t *testing.T, target string, seq uint64) {
	t.Helper()
	if err := o.Outbox.Safe(t.Context(), target, seq); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, o push.Outbox, after uint64, n, maxBytes int) []push.Entry {
	t.Helper()
	es, err := o.Entries(t.Context(), after, n, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range es {
		if e.Seq <= after || (i > 0 && e.Seq <= es[i-1].Seq) {
			t.Fatalf("sequence numbers after %d do not grow: %v", after, es)
		}
	}
	return es
}

func urls(es []push.Entry) string {
	s := ""
	for _, e := range es {
		s += fmt.Sprintf("%s %s;", e.Op, e.URL)
	}
	return s
}

func checkURLs(t *testing.T, got []push.Entry, want string) {
	t.Helper()
	if g := urls(got); g != want {
		t.Errorf("entries %q, want %q", g, want)
	}
}

func testOrder(t *testing.T, o Opened) {
	o.open(t, "a")
	o.add("http://h/1", "one")
	o.Put(DeletionEntry(push.Deletion{URL: "http://h/2", Reason: "404"}))
	o.add("http://h/3", "three")
	all := entries(t, o.Outbox, 0, 10, plenty)
	checkURLs(t, all, "add http://h/1;delete http://h/2;add http://h/3;")
	if all[0].Source != "s" {
		t.Errorf("source %q, want s", all[0].Source)
	}
	var d push.Document
	if err := json.Unmarshal(all[2].Body, &d); err != nil || d.Text != "three" {
		t.Errorf("body %s: %v", all[2].Body, err)
	}
	checkURLs(t, entries(t, o.Outbox, 0, 2, plenty), "add http://h/1;delete http://h/2;")
	checkURLs(t, entries(t, o.Outbox, all[0].Seq, 10, plenty), "delete http://h/2;add http://h/3;")
	checkURLs(t, entries(t, o.Outbox, all[2].Seq, 10, plenty), "")
	checkURLs(t, entries(t, o.Outbox, 0, 10, 1), "add http://h/1;")
	two := len(all[0].Body) + len(all[1].Body)
	checkURLs(t, entries(t, o.Outbox, 0, 10, two), "add http://h/1;delete http://h/2;")
	checkURLs(t, entries(t, o.Outbox, 0, 10, two-1), "add http://h/1;")
}

func testReplace(t *testing.T, o Opened) {
	o.open(t, "a")
	o.add("http://h/1", "old")
	o.add("http://h/2", "two")
	o.Put(DeletionEntry(push.Deletion{URL: "http://h/1", Reason: "404"}))
	checkURLs(t, entries(t, o.Outbox, 0, 10, plenty), "add http://h/2;delete http://h/1;")
	o.add("http://h/2", "newer")
	all := entries(t, o.Outbox, 0, 10, plenty)
	checkURLs(t, all, "delete http://h/1;add http://h/2;")
}

func testCursors(t *testing.T, o Opened) {
	o.open(t, "a", "b")
	for i := range 4 {
		o.add(fmt.Sprintf("http://h/%d", i), "text")
	}
	all := entries(t, o.Outbox, 0, 10, plenty)
	o.safe(t, "a", all[2].Seq)
	o.safe(t, "a", all[0].Seq) // changes nothing
	if c, err := o.Outbox.Cursor(t.Context(), "a"); err != nil || c != all[2].Seq {
		t.Errorf("cursor %d, %v; want %d", c, err, all[2].Seq)
	}
	if n := len(entries(t, o.Outbox, 0, 10, plenty)); n != 4 {
		t.Errorf("%d entries are left while b needs 4", n)
	}
	o.safe(t, "b", all[3].Seq)
	checkURLs(t, entries(t, o.Outbox, all[2].Seq, 10, plenty), "add http://h/3;")
	o.safe(t, "a", all[3].Seq)
	checkURLs(t, entries(t, o.Outbox, 0, 10, plenty), "")
	o.add("http://h/0", "again")
	more := entries(t, o.Outbox, all[3].Seq, 10, plenty)
	checkURLs(t, more, "add http://h/0;")
}

func testTargets(t *testing.T, o Opened) {
	o.open(t, "a")
	o.add("http://h/1", "one")
	o.add("http://h/2", "two")
	all := entries(t, o.Outbox, 0, 10, plenty)
	o.safe(t, "a", all[0].Seq)
	o.open(t, "a", "late")
	c, err := o.Outbox.Cursor(t.Context(), "late")
	if err != nil || c >= all[1].Seq {
		t.Fatalf("a new target's cursor is %d (%v), beyond the oldest entry %d", c, err, all[1].Seq)
	}
	checkURLs(t, entries(t, o.Outbox, c, 10, plenty), "add http://h/2;")
	o.safe(t, "a", all[1].Seq)
	if n := len(entries(t, o.Outbox, c, 10, plenty)); n != 1 {
		t.Fatalf("%d entries wait for the late target, want 1", n)
	}
	if err := o.Outbox.AddDead(t.Context(), "late", all[1], "no", time.Now()); err != nil {
		t.Fatal(err)
	}
	o.open(t, "a")
	if c, err := o.Outbox.Cursor(t.Context(), "a"); err != nil || c != all[1].Seq {
		t.Errorf("cursor of the target that stays: %d, %v; want %d", c, err, all[1].Seq)
	}
	if d := o.Dead("late"); len(d) != 0 {
		t.Errorf("a forgotten target has dead letters: %v", d)
	}
}

func testDead(t *testing.T, o Opened) {
	o.open(t, "a", "b")
	o.add("http://h/1", "one")
	o.add("http://h/2", "two")
	all := entries(t, o.Outbox, 0, 10, plenty)
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 2 { // again after a rewind
		if err := o.Outbox.AddDead(t.Context(), "a", all[0], "too ugly", at); err != nil {
			t.Fatal(err)
		}
	}
	if c, _ := o.Outbox.Cursor(t.Context(), "a"); c >= all[0].Seq {
		t.Errorf("a dead letter moved the cursor to %d", c)
	}
	o.safe(t, "a", all[1].Seq)
	o.safe(t, "b", all[1].Seq)
	dead := o.Dead("a")
	if len(dead) != 1 {
		t.Fatalf("dead letters %v, want one", dead)
	}
	want := push.Dead{Entry: all[0], Target: "a", Words: "too ugly", At: at}
	if diff := cmp.Diff(want, dead[0]); diff != "" {
		t.Errorf("dead letter (-want +got):\n%s", diff)
	}
	if d := o.Dead("b"); len(d) != 0 {
		t.Errorf("b has dead letters of a: %v", d)
	}
	o.add("http://h/1", "newer")
	if d := o.Dead("a"); len(d) != 0 {
		t.Errorf("a newer order leaves the dead one: %v", d)
	}
}

func testSignal(t *testing.T, o Opened) {
	o.open(t, "a")
	o.add("http://h/1", "one")
	o.add("http://h/2", "two") // does not block with the signal unread
	<-o.Outbox.Changed()
}

func testReopen(t *testing.T, o Opened) {
	if o.Reopen == nil {
		t.Skip("this outbox stores nothing")
	}
	o.open(t, "a", "b")
	for i := range 3 {
		o.add(fmt.Sprintf("http://h/%d", i), "text")
	}
	all := entries(t, o.Outbox, 0, 10, plenty)
	o.safe(t, "a", all[1].Seq)
	o.safe(t, "b", all[0].Seq)
	o.Outbox = o.Reopen()
	o.open(t, "a", "b")
	if c, err := o.Outbox.Cursor(t.Context(), "a"); err != nil || c != all[1].Seq {
		t.Errorf("cursor %d, %v; want %d", c, err, all[1].Seq)
	}
	if diff := cmp.Diff(all[1:], entries(t, o.Outbox, all[0].Seq, 10, plenty)); diff != "" {
		t.Errorf("entries after opening again (-want +got):\n%s", diff)
	}
}
