package push_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// An entry whose body cannot be read reaches no target, becomes a dead letter with
// the reason, and holds up nobody.
func TestRelayBuriesDamagedEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, a := pushtest.NewOutbox(), newFake("a")
		fill(o, 3)
		o.Put(push.Entry{URL: "http://h/hurt", Damage: "the body is damaged"})
		o.PutDocument("", "http://h/after", "x")
		r := start(t, o, push.TargetSettings{Target: a, BatchCount: 2})
		drained(t, r)
		dead := o.Dead("a")
		if len(dead) != 1 || dead[0].URL != "http://h/hurt" || dead[0].Words != "the body is damaged" {
			t.Errorf("dead letters: %+v", dead)
		}
		if _, pushed := a.safe["http://h/hurt"]; pushed || len(a.safe) != 4 {
			t.Errorf("the target has %v, want 4 documents", a.safe)
		}
		if s := r.Status()[0]; s.Cursor != 5 || o.Len() != 0 {
			t.Errorf("status %+v, %d entries left", s, o.Len())
		}
	})
}

// A document that left a narrowed target is deleted there also if its body is
// damaged; and when that deletion is refused, the dead letter is the document, so that
// a retry deletes it nowhere else.
func TestRelayDeadLetterOfMovedDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, news := pushtest.NewOutbox(), newFake("news")
		source := "news"
		moved := pushtest.DocumentEntry(push.Document{URL: "http://h/undeletable", Source: "wiki", Text: "moved"})
		moved.Moved = true
		o.Put(moved)
		o.Put(push.Entry{URL: "http://h/hurt", Source: "wiki", Moved: true, Damage: "the body is damaged"})
		r := start(t, o, push.TargetSettings{Target: news, Source: &source})
		drained(t, r)
		dead := o.Dead("news")
		if len(dead) != 1 || dead[0].URL != "http://h/undeletable" || dead[0].Op != push.Add || !dead[0].Moved || !strings.Contains(string(dead[0].Body), "moved") {
			t.Errorf("dead letters: %+v", dead)
		}
		if s := r.Status()[0]; s.Deletions != 1 || s.Adds != 0 || s.Refused != 1 {
			t.Errorf("status %+v", s)
		}
	})
}
