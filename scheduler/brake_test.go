package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestAdmit: how many deletions of an index leave within the window, counted with the
// documents that left before.
func TestAdmit(t *testing.T) {
	set := Brake{On: true, Min: 100, Percent: 20, Window: time.Hour}
	for _, c := range []struct {
		name      string
		set       Brake
		documents uint64
		want      int // of 300
	}{
		{"both passed, min decides", set, 300, 100},
		{"both passed, percent decides", set, 1000, 200},
		{"percent is not passed", set, 10000, 300},
		{"percent not asked", Brake{On: true, Min: 100, Window: time.Hour}, 10000, 100},
		{"min not asked", Brake{On: true, Percent: 20, Window: time.Hour}, 100, 20},
		{"neither asked", Brake{On: true, Window: time.Hour}, 1000, 300},
		{"a small index", Brake{On: true, Min: 3, Percent: 20, Window: time.Hour}, 10, 3},
		{"an index of absurd size", set, 1<<64 - 1, 300},
	} {
		for _, batch := range []int{1, 7, 300} {
			d, documents, sent := new(IndexBrake), c.documents, 0
			for i := 0; i < 300; i += batch {
				_, n := d.Admit(c.set, documents, min(batch, 300-i), start().Add(time.Duration(i)*time.Second))
				sent += n
				documents -= uint64(n)
			}
			if sent != c.want {
				t.Errorf("%s, in batches of %d: %d leave, want %d", c.name, batch, sent, c.want)
			}
		}
	}
	d := new(IndexBrake)
	d.Admit(set, 300, 150, start())
	if _, n := d.Admit(set, 200, 1, start().Add(50*time.Minute)); n != 0 {
		t.Error("one leaves within the window")
	}
	if _, n := d.Admit(set, 200, 1, start().Add(2*time.Hour)); n != 1 || d.Sent(set, start().Add(2*time.Hour)) != 1 {
		t.Errorf("%d leave though the window is empty again", n)
	}
	if n := new(IndexBrake).Sent(Brake{}, start()); n != 0 {
		t.Errorf("%d within no time", n)
	}
}

// TestCountIsKept: the next process goes on counting, and does not take damage for a count.
func TestCountIsKept(t *testing.T) {
	set := Brake{On: true, Min: 100, Percent: 20, Window: time.Hour}
	note, _ := new(IndexBrake).Admit(set, 300, 70, time.Now())
	b := IndexBrake{store: values{CrawlValue(sentName): note.Value}}
	if err := b.Load(t.Context()); err != nil || b.Sent(set, time.Now()) != 70 {
		t.Errorf("%d have left, %v, want 70", b.Sent(set, time.Now()), err)
	}
	for _, bad := range [][]byte{note.Value[:len(note.Value)-1], append(note.Value, 0)} {
		b := IndexBrake{store: values{CrawlValue(sentName): bad}}
		if err := b.Load(t.Context()); !errors.Is(err, ErrDamaged) || !b.sent.Empty() {
			t.Errorf("%x is read: %v", bad, err)
		}
	}
}

// values is a store of named values.
type values map[ValueName][]byte

func (v values) Value(_ context.Context, name ValueName) ([]byte, error) { return v[name], nil }

func (v values) SetValue(_ context.Context, name ValueName, b []byte) error {
	v[name] = b
	return nil
}
