package clustertest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is an engine that several nodes reach, each closing its own end.
type shared struct {
	*Memory
	closed bool
}

func (s *shared) Close() error { s.closed = true; return nil }

func (s *shared) Commit(ctx context.Context, step cluster.Step) (cluster.Outcome, error) {
	if s.closed {
		return cluster.Outcome{}, cluster.ErrInDoubt
	}
	return s.Memory.Commit(ctx, step)
}

func (s *shared) Read(ctx context.Context, keys ...string) (cluster.View, error) {
	if s.closed {
		return cluster.View{}, cluster.ErrUnavailable
	}
	return s.Memory.Read(ctx, keys...)
}

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) (a, b cluster.Engine) {
		m := NewMemory()
		return &shared{Memory: m}, &shared{Memory: m}
	})
}

// TestPerfectLine: a line without faults is as good as the engine.
func TestPerfectLine(t *testing.T) {
	Run(t, func(*testing.T) (a, b cluster.Engine) {
		m := NewMemory()
		return NewLine(&shared{Memory: m}, 1), NewLine(&shared{Memory: m}, 2)
	})
}

// TestLineFails: each fault does what it says, or tests that use it prove nothing.
func TestLineFails(t *testing.T) {
	step := cluster.Step{Then: []cluster.Write{{Key: "x", Value: []byte("1")}}}
	for name, c := range map[string]struct {
		faults      Faults
		doubt       bool
		soon, later int // steps taken
	}{
		"none":    {Faults{}, false, 1, 1},
		"cut":     {Faults{Cut: true}, true, 0, 0},
		"dead":    {Faults{Dead: true}, true, 0, 0},
		"one way": {Faults{OneWay: true}, true, 1, 1},
		"lost":    {Faults{Lost: 1}, true, 1, 1},
		"late":    {Faults{Late: 1, Delay: time.Second}, true, 0, 1},
		"repeat":  {Faults{Repeat: 1}, false, 1, 2},
		"slow":    {Faults{Delay: 200 * time.Millisecond}, false, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewMemory()
				l := NewLine(m, 1)
				l.Set(c.faults)
				_, err := l.Commit(t.Context(), step)
				if errors.Is(err, cluster.ErrInDoubt) != c.doubt {
					t.Errorf("err = %v", err)
				}
				if m.Steps() != c.soon {
					t.Errorf("%d steps were taken, want %d", m.Steps(), c.soon)
				}
				time.Sleep(2 * time.Minute)
				if m.Steps() != c.later {
					t.Errorf("%d steps were taken in the end, want %d", m.Steps(), c.later)
				}
			})
		})
	}
}

func TestBusyLineRefuses(t *testing.T) {
	m := NewMemory()
	l := NewLine(m, 1)
	l.Set(Faults{Busy: 1})
	if _, err := l.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "x"}}}); !errors.Is(err, cluster.ErrBusy) || !errors.Is(err, cluster.ErrRefused) || m.Steps() != 0 {
		t.Errorf("%v, %d steps", err, m.Steps())
	}
}

// TestFullUntilCompacted: removing is possible when nothing else is.
func TestFullUntilCompacted(t *testing.T) {
	m := NewMemory()
	m.SetQuota(1000)
	put := cluster.Step{Then: []cluster.Write{{Key: "x", Value: make([]byte, 600)}}}
	if _, err := m.Commit(t.Context(), put); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Commit(t.Context(), put); !errors.Is(err, cluster.ErrFull) {
		t.Errorf("err = %v, want ErrFull", err)
	}
	if _, err := m.Commit(t.Context(), cluster.Step{Then: []cluster.Write{{Key: "x", Remove: true}}}); err != nil {
		t.Error(err)
	}
	if err := m.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := m.Commit(t.Context(), put); err != nil {
		t.Errorf("after Compact: %v", err)
	}
}
