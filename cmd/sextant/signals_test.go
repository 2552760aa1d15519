package main

import (
	"testing"
	"time"
)

// TestTwoSignalsAtOnce: what stops a process and its group is not in a hurry.
func TestTwoSignalsAtOnce(t *testing.T) {
	var s stops
	begun := time.Now()
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {0, 0}, {together - 1, 0}, {together, 2}, {time.Hour, 2}} {
		if got := s.take(begun.Add(c.after)); got != c.want {
			t.Errorf("a signal %v after the first counts as %d, want %d", c.after, got, c.want)
		}
	}
}
