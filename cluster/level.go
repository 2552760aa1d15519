package cluster

// level.go: how a cluster goes over to a new version of the program, one node after the other. Whatever nodes leave for each other, in the
// log before all, has a form, and forms have numbers: levels. A cluster is at one level, which is stored. Each node writes that level and
// reads it, whatever else its version can do; when all nodes know the next one the cluster is raised to it. So an older node never finds what it cannot
// read, as long as one is left, and one that comes back too late is refused with words.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// ErrLevel says that a node's version and the cluster do not fit together.
var ErrLevel = errors.New("the cluster is at a level that this version does not know")

// Levels are those that a version of the program reads and writes, both ends included.
type Levels struct{ Oldest, Newest uint8 }

// thisVersion are the levels of the program as it is.
func thisVersion() Levels { return Levels{entry.Oldest, entry.Newest} }

// levels are those that a node knows, and the one that the cluster is at.
type levels struct {
	Levels
	now atomic.Uint32 // any goroutine reads it
	at  Revision      // of the key; of Join, then of the goroutine that beats
}

// leveled is the value of the key level; without it a cluster is at level 1.
type leveled struct {
	Level uint8 `json:"level"`
}

func levelOf(kv KeyValue) (uint8, error) {
	l := leveled{1}
	if kv.Revision != 0 {
		if err := read(kv, &l); err != nil {
			return 0, err
		}
	}
	return l.Level, nil
}

// LettersHaveItems reports whether all nodes read letters that bring documents of feeds' items; it stays so.
func LettersHaveItems(ctx context.Context, e Engine) (bool, error) {
	v, err := e.Read(ctx, levelKey)
	if err != nil {
		return false, err
	}
	level, err := levelOf(v.Keys[0])
	return level >= entry.WithItems, err
}

// takeLevel takes in the cluster's level. ErrLevel if this version cannot be part of it.
func (n *Node) takeLevel(kv KeyValue) error {
	level, err := levelOf(kv)
	switch {
	case err != nil:
		return err
	case level > n.levels.Newest:
		return fmt.Errorf("%w: it is at %d, this version knows %d to %d: install the version that the other nodes run", ErrLevel, level, n.levels.Oldest, n.levels.Newest)
	case level < n.levels.Oldest:
		return fmt.Errorf("%w: it is at %d, this version knows %d to %d: first have all nodes run a version between", ErrLevel, level, n.levels.Oldest, n.levels.Newest)
	}
	n.levels.now.Store(uint32(level))
	n.levels.at = kv.Revision
	return nil
}

// level is the form that this node writes.
func (n *Node) level() uint8 { return uint8(n.levels.now.Load()) }

// raise goes over to the next level, when every node that has a copy of a partition knows it, and every other one that lives. It is for the
// owner of the first partition. A node that starts meanwhile learns it from its next beat, before it may act.
func (m *Member) raise(ctx context.Context, h *hold, alive map[string]bool) error {
	n, next := m.node, m.node.level()+1
	if m.partition != 0 || next > n.levels.Newest {
		return nil
	}
	keys := []string{levelKey, mapKey}
	for p := range Partition(n.meta.Partitions) {
		keys = append(keys, setKey(p))
	}
	v, err := n.engine.read(ctx, keys...)
	if err != nil {
		return err
	}
	level, err := levelOf(v.Keys[0])
	if err != nil || level+1 != next {
		return err // the next beat learns it
	}
	need, err := m.holders(v.Keys[1], v.Keys[2:])
	if err != nil {
		return err
	}
	known, err := n.knownLevels(ctx)
	if err != nil {
		return err
	}
	for node := range alive {
		need[node] = true
	}
	for node := range need {
		if known[node] < next {
			return nil
		}
	}
	step := Step{If: []Condition{n.same(), h.condition()}, Then: []Write{Put(levelKey, leveled{next})}}
	for _, kv := range v.Keys {
		step.If = append(step.If, Condition{kv.Key, kv.Revision})
	}
	out, err := n.engine.commit(ctx, step)
	if err == nil && out.Taken {
		m.log.Info("the cluster goes over to the next level: all nodes know it", "level", next)
	}
	return err
}

// holders are the nodes that have copies, or are to have them.
func (m *Member) holders(mapKV KeyValue, sets []KeyValue) (map[string]bool, error) {
	all := map[string]bool{}
	for _, kv := range sets {
		var set syncSet
		if err := read(kv, &set); err != nil {
			return nil, err
		}
		for _, seat := range set.Seats {
			all[seat.Node] = true
		}
	}
	now, _, err := m.node.meta.mapOf(mapKV)
	for _, of := range now.Members {
		for _, name := range of {
			all[name] = true
		}
	}
	return all, err
}

// knownLevels are the newest levels that the nodes know, as their last beats say.
func (n *Node) knownLevels(ctx context.Context) (map[string]uint8, error) {
	from, to := Folder(BeatFolder)
	v, err := n.engine.all(ctx, from, to)
	if err != nil {
		return nil, err
	}
	known, last := map[string]uint8{}, map[string]time.Time{}
	for _, kv := range v.Keys {
		var b beat
		if err := read(kv, &b); err != nil {
			return nil, err
		}
		if name := nodeOfBeat(kv.Key); !b.Wall.Before(last[name]) {
			last[name], known[name] = b.Wall, max(b.Level, 1)
		}
	}
	return known, nil
}

// Upgrading says which nodes keep the cluster at its level while others know a later one, "" if none does.
func (s *State) Upgrading() string {
	var old, later []string
	for _, n := range s.Nodes {
		if n.Level > s.Level {
			later = append(later, n.Node)
		} else {
			old = append(old, n.Node)
		}
	}
	switch {
	case len(later) == 0:
		return ""
	case len(old) == 0:
		return fmt.Sprintf("level %d: all nodes know a later one, and go over to it", s.Level)
	}
	return fmt.Sprintf("level %d, until the version of %s runs on %s, too", s.Level, strings.Join(later, ", "), strings.Join(old, ", "))
}
