package whole

import (
	"encoding/json"
	"io"
)

// Line is a line of a list as one node tells it to another: an item with its cursor, the last line of all, or how far
// the list is without one.
type Line struct {
	At   string          `json:"at,omitempty"`
	Item json.RawMessage `json:"item,omitempty"`
	End  bool            `json:"end,omitempty"`
}

// Lines writes a list for another node. Each walks over the items.
func Lines(w io.Writer, each func(put func(item any, at string) error) error) error {
	out := json.NewEncoder(w)
	err := each(func(item any, at string) error {
		if item == nil {
			return out.Encode(Line{At: at})
		}
		b, err := json.Marshal(item)
		if err != nil {
			return err
		}
		return out.Encode(Line{At: at, Item: b})
	})
	if err != nil {
		return err
	}
	return out.Encode(Line{End: true})
}

// Order compares two cursors of a list.
type Order func(a, b string) int

// stream is a part whose lines are merged.
type stream struct {
	*part
	next Line // End: there is none
	any  bool
}

// step reads the next line, which must not stand before the one that was read last.
func (s *stream) step(order Order) {
	last := s.next
	s.next = Line{End: true}
	line, err := s.line()
	if err != nil {
		s.fail("its list broke off: %w", err)
		return
	}
	var l Line
	switch err := json.Unmarshal(line, &l); {
	case err != nil || l.End == (l.At != ""):
		s.fail("its list is garbage")
	case !l.End && s.any && order(l.At, last.At) < 0:
		s.fail("its list is not in order")
	default:
		s.next, s.any = l, true
	}
}

// merge calls put for all lines of all parts in order, until it returns false; the cursor of what it was called with last begins the rest then. Lines with
// the same cursor come one after the other. A mark has no item.
func merge(parts []*part, order Order, put func(l Line) bool) (rest string, cut bool) {
	var live []*stream
	for _, p := range parts {
		if p.err == nil {
			s := &stream{part: p}
			if s.step(order); !s.next.End {
				live = append(live, s)
			}
		}
	}
	for len(live) > 0 {
		least := 0
		for i, s := range live {
			if order(s.next.At, live[least].next.At) < 0 {
				least = i
			}
		}
		s := live[least]
		if !put(s.next) {
			return s.next.At, true
		}
		if s.step(order); s.next.End {
			live = append(live[:least], live[least+1:]...)
		}
	}
	return "", false
}
