package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/cluster/placement"
)

// ErrTwice says that another process lives under a node's name.
var ErrTwice = errors.New("another process runs as this node")

// State is a cluster as its engine shows it, to whoever asks, node or not.
type State struct {
	Meta
	// Level is the form of what nodes leave for each other, see Levels.
	Level  uint8            `json:"level"`
	States []PartitionState `json:"states"`
	Nodes  []NodeState      `json:"nodes"` // those that have given a sign of life since they started
	// Leader is the node that writes the map, and Aim what it makes of it; only where there are several partitions.
	Leader string         `json:"leader,omitempty"`
	Aim    *placement.Aim `json:"aim,omitempty"`
}

// PartitionState is one partition of it.
type PartitionState struct {
	Partition Partition   `json:"partition"`
	Owner     Seat        `json:"owner"`
	Released  bool        `json:"released"`       // nobody owns it: Owner had it last
	Since     time.Time   `json:"since,omitzero"` // of that, by the owner's clock; zero if it was not stored
	Why       string      `json:"why"`            // of that, for people
	Epoch     int64       `json:"epoch"`
	InSync    []Seat      `json:"in_sync"`
	Entries   uint64      `json:"entries"` // SEQ of the log's end
	First     uint64      `json:"first"`   // lowest SEQ that is left
	Copies    []CopyState `json:"copies"`
	// Members are the nodes that should have it, by the map, and the first of them should own it.
	Members []string `json:"members,omitempty"`
}

// CopyState is how far a node's copy is safe on its disk.
type CopyState struct {
	Node   string `json:"node"`
	Seq    uint64 `json:"seq"`
	Behind uint64 `json:"behind_bytes"`   // bytes of the log
	Peer   string `json:"peer,omitempty"` // where the node was reached when it said so
}

// NodeState is one process.
type NodeState struct {
	Node  string    `json:"node"`
	Alive bool      `json:"alive"` // it gave a sign of life while we looked
	Wall  time.Time `json:"last_sign_of_life,omitzero"`
	Level uint8     `json:"level"` // the newest that its version knows
	Addresses
}

// Alive reports whether a node lives.
func (s *State) Alive(node string) bool {
	return slices.ContainsFunc(s.Nodes, func(n NodeState) bool { return n.Node == node && n.Alive })
}

// Peers are where living nodes answer others, the owner of the first partition before all.
func (s *State) Peers() (all []string) {
	for _, n := range s.Nodes {
		switch {
		case !n.Alive || n.Peer == "":
		case len(s.States) > 0 && s.States[0].Owner.Node == n.Node:
			all = slices.Insert(all, 0, n.Peer)
		default:
			all = append(all, n.Peer)
		}
	}
	return all
}

// Unprotected says why the loss of the owner would stop a partition, "" if it would not.
func (s *State) Unprotected(p *PartitionState) string {
	others := slices.DeleteFunc(slices.Clone(p.InSync), func(seat Seat) bool { return seat == p.Owner })
	switch {
	case len(others) == 0:
		return "no other node is in the in-sync set"
	case !slices.ContainsFunc(others, func(seat Seat) bool { return s.Alive(seat.Node) }):
		return "no other node of the in-sync set is alive"
	}
	return ""
}

// Observe looks at a cluster for as long as it takes to see who lives: until all nodes have given a sign of life,
// at most Times.Right. ErrNoCluster if there is none.
func Observe(ctx context.Context, e Engine, c Clock, t Times) (*State, error) {
	s, err := begunState(ctx, e)
	if err != nil {
		return nil, err
	}
	if s.Nodes, err = signs(ctx, e, c, t, "beat/"); err != nil {
		return nil, err
	}
	return s, s.addPartitions(ctx, e)
}

// Glance is Observe without waiting: a node is alive if it has given a sign of life since before, a glance some beats ago. For the first
// one before is nil, and nobody is alive.
func Glance(ctx context.Context, e Engine, before *State) (*State, error) {
	s, err := begunState(ctx, e)
	if err != nil {
		return nil, err
	}
	if s.Nodes, err = Nodes(ctx, e); err != nil {
		return nil, err
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Alive = before != nil && !slices.ContainsFunc(before.Nodes, func(b NodeState) bool { return b.Node == n.Node && b.Wall.Equal(n.Wall) })
	}
	return s, s.addPartitions(ctx, e)
}

// begunState is a state without nodes and partitions.
func begunState(ctx context.Context, e Engine) (s *State, err error) {
	s = &State{}
	if s.Meta, err = MetaOf(ctx, e); err != nil {
		return nil, err
	}
	v, err := e.Read(ctx, levelKey)
	if err != nil {
		return nil, err
	}
	s.Level, err = levelOf(v.Keys[0])
	return s, err
}

// MetaOf is what the cluster in an engine is. ErrNoCluster if there is none.
func MetaOf(ctx context.Context, e Engine) (m Meta, err error) {
	v, err := e.Read(ctx, metaKey)
	if err != nil {
		return m, err
	}
	if v.Keys[0].Revision == 0 {
		return m, fmt.Errorf("%w under the prefix that --engine names: correct it, or make one by sextant cluster init", ErrNoCluster)
	}
	return m, read(v.Keys[0], &m)
}

func (s *State) addPartitions(ctx context.Context, e Engine) error {
	for p := range Partition(s.Partitions) {
		one, err := observe(ctx, e, p)
		if err != nil {
			return err
		}
		s.States = append(s.States, one)
	}
	if s.Partitions == 1 {
		return nil
	}
	return s.addMap(ctx, e)
}

// addMap says who should have what.
func (s *State) addMap(ctx context.Context, e Engine) error {
	v, err := e.Read(ctx, leaderKey, mapKey, aimKey)
	if err != nil {
		return err
	}
	aim, err := aimOf(v.Keys[2])
	if err != nil {
		return err
	}
	s.Aim = &aim
	var l leadership
	if v.Keys[0].Revision != 0 {
		if err := read(v.Keys[0], &l); err != nil {
			return err
		}
		if !l.Released {
			s.Leader = l.Node
		}
	}
	m, at, err := s.mapOf(v.Keys[1])
	if err != nil || at == 0 {
		return err
	}
	for i := range s.States {
		s.States[i].Members = m.Of(i)
	}
	return nil
}

func observe(ctx context.Context, e Engine, p Partition) (s PartitionState, err error) {
	v, err := e.Read(ctx, ownKey(p), setKey(p), headKey(p), firstKey(p))
	if err != nil {
		return s, err
	}
	var own ownership
	var set syncSet
	var head place
	var low first
	if err := errors.Join(read(v.Keys[0], &own), read(v.Keys[1], &set), read(v.Keys[2], &head), read(v.Keys[3], &low)); err != nil {
		return s, err
	}
	s = PartitionState{
		Partition: p, Owner: own.Seat, Released: own.Released, Since: own.Since, Why: own.Why, Epoch: int64(v.Keys[0].Revision),
		InSync: set.Seats, Entries: head.Seq, First: low.Seq,
	}
	from, to := Folder(doneFolder(p))
	copies, err := ListAll(ctx, e, from, to)
	if err != nil {
		return s, err
	}
	for _, kv := range copies.Keys {
		var d done
		if err := read(kv, &d); err != nil {
			return s, err
		}
		s.Copies = append(s.Copies, CopyState{strings.TrimPrefix(kv.Key, from), d.Seq, head.Size - min(head.Size, d.Size), d.Peer})
	}
	return s, nil
}

// Nodes are the processes that have beaten, one of each node; whether they still do is not looked at.
func Nodes(ctx context.Context, e Engine) (all []NodeState, err error) {
	from, to := Folder(BeatFolder)
	v, err := ListAll(ctx, e, from, to)
	if err != nil {
		return nil, err
	}
	for _, kv := range v.Keys {
		n, err := nodeState(kv)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return newest(all), nil
}

// nodeState is a process as its beat says; whether it lives is not in that.
func nodeState(kv KeyValue) (NodeState, error) {
	var b beat
	err := read(kv, &b)
	return NodeState{Node: nodeOfBeat(kv.Key), Wall: b.Wall, Level: max(b.Level, 1), Addresses: b.Addresses}, err
}

// signs are the processes that have beaten, and which of them do so now.
func signs(ctx context.Context, e Engine, c Clock, t Times, prefix string) (all []NodeState, err error) {
	from, to := Folder(prefix)
	seen := map[string]Revision{}
	for began := c.Now(); ; {
		v, err := ListAll(ctx, e, from, to)
		if err != nil {
			return nil, err
		}
		quiet := 0
		all = all[:0]
		for _, kv := range v.Keys {
			n, err := nodeState(kv)
			if err != nil {
				return nil, err
			}
			before, known := seen[kv.Key]
			if !known {
				before = kv.Revision
				seen[kv.Key] = before
			}
			if n.Alive = kv.Revision != before; !n.Alive {
				quiet++
			}
			all = append(all, n)
		}
		if quiet == 0 || c.Now()-began > t.Right {
			return newest(all), nil
		}
		if err := c.Sleep(ctx, t.Beat/10); err != nil {
			return nil, err
		}
	}
}

// newest leaves of several processes of one node the one that lives, or else beat last.
func newest(all []NodeState) (out []NodeState) {
	for _, n := range all {
		i := slices.IndexFunc(out, func(o NodeState) bool { return o.Node == n.Node })
		switch {
		case i < 0:
			out = append(out, n)
		case n.Alive && !out[i].Alive, n.Alive == out[i].Alive && n.Wall.After(out[i].Wall):
			out[i] = n
		}
	}
	return out
}

// Alone refuses with ErrTwice a name under which another process lives. A process that was killed is waited
// for, for Times.Right at most: its sign of life is still there.
func Alone(ctx context.Context, e Engine, name string, c Clock, t Times) error {
	all, err := signs(ctx, e, c, t, beatKey(name, ""))
	if err != nil {
		return err
	}
	for _, n := range all {
		if n.Alive {
			return fmt.Errorf("%w: %s runs already, on %s (%s): give each node a name of its own", ErrTwice, name, n.Machine, n.Peer)
		}
	}
	return nil
}

// forget removes the signs of life of earlier runs of the node; if one of them still lives it beats again. That of an owner stays for
// whoever claims: a standby that waits for its silence would have to begin anew if it went.
func (n *Node) forget(ctx context.Context) error {
	owns := make([]string, n.meta.Partitions)
	for p := range owns {
		owns[p] = ownKey(Partition(p))
	}
	owners, err := n.engine.read(ctx, owns...)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, kv := range owners.Keys {
		var o ownership
		if err := read(kv, &o); err != nil {
			return err
		}
		keep[beatKey(o.Node, o.Session)] = !o.Released
	}
	from, to := Folder(beatKey(n.name, ""))
	old, err := n.engine.all(ctx, from, to)
	if err != nil {
		return err
	}
	step := Step{If: []Condition{n.same()}}
	for _, kv := range old.Keys[:min(len(old.Keys), MaxStepWrites)] {
		if !keep[kv.Key] {
			step.Then = append(step.Then, Write{Key: kv.Key, Remove: true})
		}
	}
	if len(step.Then) > 0 {
		_, err = n.engine.commit(ctx, step)
	}
	return err
}
