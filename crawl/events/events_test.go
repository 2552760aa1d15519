package events

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestLog: events come back the latest first, from another Log too, and the oldest go.
func TestLog(t *testing.T) {
	store, ctx := teststore.New(t), t.Context()
	add := func(l *Log, text string) {
		t.Helper()
		if err := l.Add(ctx, Event{At: time.Unix(1e9, 0), Kind: Reload, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	first := NewLog(store)
	for i := range 3 {
		add(first, fmt.Sprint(i))
	}
	second := NewLog(store) // after a restart
	for i := 3; i < Kept+5; i++ {
		add(second, fmt.Sprint(i))
	}
	all, err := List(ctx, store)
	if err != nil || len(all) != Kept {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for i, e := range all {
		if want := Kept + 4 - i; e.Text != fmt.Sprint(want) || e.Number != uint64(want+1) {
			t.Fatalf("event %d is %q, number %d; want %d", i, e.Text, e.Number, want)
		}
	}
	add(second, strings.Repeat("ü", 4000))
	if all, err = List(ctx, store); err != nil || len(all[0].Text) > textMax+3 || !utf8.ValidString(all[0].Text) {
		t.Errorf("a text of %d bytes is kept, %v", len(all[0].Text), err)
	}
}

// TestLogFails: an event that cannot be kept takes no number.
func TestLogFails(t *testing.T) {
	broken := true
	store := &storetest.Faulty{Store: teststore.New(t), Before: func(_ context.Context, m string) error {
		if m == "SetValue" && broken {
			return fmt.Errorf("no disk")
		}
		return nil
	}}
	l := NewLog(store)
	if err := l.Add(t.Context(), Event{Kind: Stop}); err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("%v", err)
	}
	broken = false
	if err := l.Add(t.Context(), Event{Kind: Start}); err != nil {
		t.Fatal(err)
	}
	if all, err := List(t.Context(), store); err != nil || len(all) != 1 || all[0].Number != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}
