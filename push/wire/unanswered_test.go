package wire

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
)

// silent is a server that says nothing of requests with an order whose URL begins with "big",
// or of all of them, and notes what it took.
type silent struct {
	all   bool
	taken []string
	calls int
}

func (s *silent) send(_ context.Context, items []Item) ([]push.Refusal, error) {
	s.calls++
	if s.all || slices.ContainsFunc(items, func(i Item) bool { return strings.HasPrefix(i.URL, "big") && i.Op == push.Add }) {
		return nil, &Unanswered{Err: errors.New("0 items\nof 1")}
	}
	for _, i := range items {
		s.taken = append(s.taken, i.Op.String()+" "+i.URL)
	}
	return nil, nil
}

func patientEndpoint(t *testing.T) *Endpoint {
	t.Helper()
	e, err := NewEndpoint("test", Settings{URL: "http://h", RetryWait: time.Millisecond, RetryWaitMax: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

func (s *silent) push(t *testing.T, e *Endpoint, first uint64, urls ...string) ([]uint64, error) {
	t.Helper()
	var entries []push.Entry
	for i, u := range urls {
		entry := push.Entry{Seq: first + uint64(i), URL: u, Body: []byte("{}")}
		if after, ok := strings.CutPrefix(u, "-"); ok {
			entry.URL, entry.Op = after, push.Delete
		}
		entries = append(entries, entry)
	}
	refused, err := e.Spread(t.Context(), entries, Limits{}, func(push.Entry) ([]byte, error) { return []byte("x"), nil }, s.send)
	var seqs []uint64
	for _, r := range refused {
		seqs = append(seqs, r.Seq)
		if !strings.Contains(r.Words, "2 bytes") || !strings.HasSuffix(r.Words, "0 items of 1") {
			t.Errorf("words %q", r.Words)
		}
	}
	return seqs, err
}

// TestOneOrderStopsNothing: an order that the target never says anything of is refused once
// others are taken, and a later order of its URL comes after it.
func TestOneOrderStopsNothing(t *testing.T) {
	s, e := &silent{}, patientEndpoint(t)
	refused, err := s.push(t, e, 1, "big", "a", "b", "-big", "big2")
	if err != nil || !cmp.Equal(refused, []uint64{1, 5}) {
		t.Errorf("refused %v, %v", refused, err)
	}
	if want := []string{"add a", "add b", "delete big"}; !cmp.Equal(s.taken, want) {
		t.Errorf("taken %q, want %q", s.taken, want)
	}
	s.calls = 0
	if refused, err = s.push(t, e, 6, "big"); err != nil || !cmp.Equal(refused, []uint64{6}) || s.calls != maxTries {
		t.Errorf("alone after others: refused %v, %v, %d requests", refused, err, s.calls)
	}
}

// TestNothingIsTaken: a server that takes nothing is at fault, and not the orders.
func TestNothingIsTaken(t *testing.T) {
	s, e := &silent{}, patientEndpoint(t)
	refused, err := s.push(t, e, 3, "big", "big2")
	if err == nil || len(refused) > 0 || !strings.HasPrefix(err.Error(), "order 3 (add big, 2 bytes) was sent alone: ") {
		t.Errorf("refused %v, %v", refused, err)
	}
	many := slices.Repeat([]string{"x"}, 4*maxUnanswered)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	s.all, s.calls = true, 0
	if _, err := s.push(t, e, 1, many...); err == nil || s.calls > 3*maxUnanswered {
		t.Errorf("%v after %d requests", err, s.calls)
	}
}

// TestServerTurns: a server that took orders and then becomes something else costs few of them.
func TestServerTurns(t *testing.T) {
	s, e := &silent{}, patientEndpoint(t)
	if _, err := s.push(t, e, 1, "a"); err != nil {
		t.Fatal(err)
	}
	s.all = true
	lost := 0
	for seq := range uint64(3 * maxTrust) {
		refused, _ := s.push(t, e, 2+seq, "a")
		lost += len(refused)
	}
	if lost != maxTrust {
		t.Errorf("%d orders are refused, want %d", lost, maxTrust)
	}
}
