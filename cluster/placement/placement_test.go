package placement_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/cluster/placement"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// sim is a cluster that does what the map says, one tick after the other.
type sim struct {
	placement.View
	placement.Map
	copies, moves, takeovers int
	dead                     map[string]int // ticks
	fault                    string
	now, mapAt               int
	claimed                  []int // when, of each partition
}

// goneAfter is after how many ticks a dead node's copies are made elsewhere.
const goneAfter = 40

func newSim(partitions, replicas int, founder string) *sim {
	s := &sim{dead: map[string]int{}}
	s.Aim.Replicas, s.claimed = replicas, make([]int, partitions)
	for range partitions {
		s.Members = append(s.Members, []string{founder})
		s.Partitions = append(s.Partitions, placement.Partition{Owner: founder, InSync: []string{founder}})
	}
	s.start(founder)
	return s
}

func (s *sim) node(name string) *placement.Node {
	i := slices.IndexFunc(s.Nodes, func(n placement.Node) bool { return n.Name == name })
	if i < 0 {
		s.Nodes = append(s.Nodes, placement.Node{Name: name})
		i = len(s.Nodes) - 1
	}
	return &s.Nodes[i]
}

func (s *sim) start(names ...string) {
	for _, name := range names {
		n := s.node(name)
		n.Alive, n.Gone = true, false
		delete(s.dead, name)
	}
}

func (s *sim) kill(names ...string) {
	for _, name := range names {
		s.node(name).Alive, s.dead[name] = false, 0
	}
}

// tick lets everybody do one thing, and the leader change the map. It reports whether anything happened.
func (s *sim) tick(leads bool) (busy bool) {
	s.now++
	for name := range s.dead {
		if s.dead[name]++; s.dead[name] == goneAfter {
			s.node(name).Gone, busy = true, true
		}
		busy = busy || s.dead[name] < goneAfter
	}
	making := map[string]bool{}
	for i := range s.Partitions {
		busy = s.copy(i, making) || busy
		busy = s.own(i) || busy
	}
	if leads {
		for i := range s.Partitions {
			s.Partitions[i].Fresh = s.claimed[i] > s.mapAt
		}
		next := placement.Next(s.Map, s.View)
		if placement.Due(s.Map, next, s.View) {
			busy, s.mapAt = true, s.now
		}
		s.check(next)
		s.Map = next
	}
	return busy
}

// copy makes the copies that the map names, one for each node, and takes away those that it does not, once all others are there.
func (s *sim) copy(i int, making map[string]bool) (busy bool) {
	p, whole := &s.Partitions[i], true
	for _, name := range s.Of(i) {
		if slices.Contains(p.InSync, name) {
			continue
		}
		whole = false
		if n := s.node(name); n.Alive && !n.Refuses && p.Owner != "" && s.node(p.Owner).Alive && !making[name] {
			making[name], busy = true, true
			s.copies++
			p.InSync = append(p.InSync, name)
		}
	}
	if whole {
		p.InSync = slices.DeleteFunc(p.InSync, func(name string) bool {
			return name != p.Owner && s.node(name).Alive && !slices.Contains(s.Of(i), name)
		})
	}
	return busy
}

// own has an owner hand over to whoever stands first, and others take over from one that is dead.
func (s *sim) own(i int) bool {
	p := &s.Partitions[i]
	able := func(name string) bool {
		n := s.node(name)
		return n.Alive && !n.Declines && slices.Contains(p.InSync, name)
	}
	first := s.First(i)
	if n := s.node(p.Owner); n.Alive {
		if first != p.Owner && able(first) && s.mapAt >= s.claimed[i] { // an older map says nothing of it
			s.moves++
			p.Owner, s.claimed[i] = first, s.now
			return true
		}
		return false
	}
	for _, name := range slices.Concat(s.Of(i), p.InSync) {
		if able(name) {
			s.takeovers++
			p.Owner, s.claimed[i] = name, s.now
			return true
		}
	}
	return false
}

// check wants a map to be one that loses nothing.
func (s *sim) check(next placement.Map) {
	wrong := func(format string, args ...any) {
		if s.fault == "" {
			s.fault = fmt.Sprintf(format, args...)
		}
	}
	moving, making := 0, map[string]int{}
	for i, of := range next.Members {
		p := s.Partitions[i]
		if len(of) == 0 {
			wrong("partition %d: members %v", i, of)
		}
		if c := slices.Compact(slices.Sorted(slices.Values(of))); len(c) != len(of) {
			wrong("partition %d: twice in %v", i, of)
		}
		if o := p.Owner; s.node(o).Alive && !slices.Contains(of, o) && !slices.Contains(p.InSync, of[0]) {
			wrong("partition %d: its owner %s is no member, and who stands first has no copy: %v", i, o, of)
		}
		if s.node(p.Owner).Alive && of[0] != p.Owner {
			moving++
			if !slices.Contains(p.InSync, of[0]) || !s.node(of[0]).Alive {
				wrong("partition %d goes to %s, which cannot take it", i, of[0])
			}
		}
		for _, name := range of {
			if !slices.Contains(p.InSync, name) && !slices.Contains(s.Of(i), name) {
				making[name]++
			}
		}
	}
	if moving > 1 {
		wrong("%d partitions move at once", moving)
	}
	for name, n := range making {
		if n > 1 {
			wrong("%s is given %d copies to make at once", name, n)
		}
	}
}

// settle ticks until nothing happens any more.
func (s *sim) settle(t *testing.T) {
	t.Helper()
	for range 2000 {
		if !s.tick(true) {
			return
		}
	}
	t.Fatalf("it never ends: %v, %+v", s.Members, s.View)
}

func (s *sim) owned() map[string]int {
	count := map[string]int{}
	for _, p := range s.Partitions {
		count[p.Owner]++
	}
	return count
}

func (s *sim) held() map[string]int {
	count := map[string]int{}
	for i := range s.Members {
		for _, name := range s.Of(i) {
			count[name]++
		}
	}
	return count
}

// even wants counts of nodes to differ by one at most.
func even(t *testing.T, what string, count map[string]int, nodes ...string) {
	t.Helper()
	low, high, sum := 1<<30, 0, 0
	for _, n := range nodes {
		low, high, sum = min(low, count[n]), max(high, count[n]), sum+count[n]
	}
	all := 0
	for _, n := range count {
		all += n
	}
	if high-low > 1 || sum != all {
		t.Errorf("%s: %v, want them even over %v", what, count, nodes)
	}
}

// TestJoin: a node that joins gets the copies and partitions that it takes to be even, and nothing else moves.
func TestJoin(t *testing.T) {
	for _, tt := range []struct{ replicas, nodes, copies, moves int }{
		{2, 2, 24, 12},      // n2: a copy of each, half of the partitions
		{2, 3, 16, 8},       // n3: a third of 48 copies, of 24 partitions
		{2, 4, 12, 6},       // n4
		{2, 5, 9, 4},        // n5
		{3, 2, 24, 12},      // two copies of each, as there are two nodes
		{3, 3, 24, 8},       // all on all
		{3, 4, 72 / 4, 6},   // n4
		{2, 10, 48 / 10, 2}, // n10
	} {
		t.Run(fmt.Sprintf("%d of %d", tt.replicas, tt.nodes), func(t *testing.T) {
			s := newSim(24, tt.replicas, "n0")
			var names []string
			for n := range tt.nodes {
				names = append(names, fmt.Sprint("n", n))
				s.copies, s.moves = 0, 0
				s.start(names[n])
				s.settle(t)
			}
			even(t, "owned", s.owned(), names...)
			even(t, "copies", s.held(), names...)
			if s.copies != tt.copies || s.moves != tt.moves || s.fault != "" {
				t.Errorf("the last one to join cost %d copies, %d moves, want %d, %d; %s", s.copies, s.moves, tt.copies, tt.moves, s.fault)
			}
		})
	}
}

// TestRestart: a node that is away for less than the stated time costs no copy; it gets back as many partitions as it takes.
func TestRestart(t *testing.T) {
	s := newSim(24, 2, "n0")
	s.start("n1", "n2")
	s.settle(t)
	s.copies, s.moves = 0, 0
	s.kill("n2")
	for range goneAfter / 2 {
		s.tick(true)
	}
	if s.copies != 0 || s.moves != 0 || s.takeovers != 8 {
		t.Errorf("while it is away: %d copies, %d moves, %d taken over, want 0, 0, 8", s.copies, s.moves, s.takeovers)
	}
	s.start("n2")
	s.settle(t)
	even(t, "owned", s.owned(), "n0", "n1", "n2")
	if s.copies != 0 || s.moves != 8 || s.fault != "" {
		t.Errorf("when it is back: %d copies, %d moves, want 0, 8; %s", s.copies, s.moves, s.fault)
	}
}

// TestTakenOverUnseen: a partition that was taken over while nobody wrote the map goes back where it belongs, though the map says so
// already.
func TestTakenOverUnseen(t *testing.T) {
	s := newSim(3, 2, "n0")
	s.start("n1", "n2")
	s.settle(t)
	s.kill("n2")
	for range 5 {
		s.tick(false)
	}
	if s.takeovers != 1 {
		t.Fatalf("%d taken over, want 1", s.takeovers)
	}
	s.start("n2")
	s.settle(t)
	even(t, "owned", s.owned(), "n0", "n1", "n2")
}

// TestGone: what a lost node had is made anew, and nothing else.
func TestGone(t *testing.T) {
	s := newSim(24, 2, "n0")
	s.start("n1", "n2")
	s.settle(t)
	s.copies, s.moves = 0, 0
	s.kill("n2")
	s.settle(t)
	even(t, "owned", s.owned(), "n0", "n1")
	even(t, "copies", s.held(), "n0", "n1")
	if s.copies != 16 || s.moves > 2 || s.fault != "" {
		t.Errorf("%d copies, %d moves, want 16 and hardly any; %s", s.copies, s.moves, s.fault)
	}
}

// TestDrain: a node that is drained hands over what it owns, and nothing else moves; what it keeps are copies. One that leaves
// has none in the end.
func TestDrain(t *testing.T) {
	s := newSim(24, 2, "n0")
	s.start("n1", "n2")
	s.settle(t)
	s.copies, s.moves = 0, 0
	s.Aim.Drained = []string{"n1"}
	s.settle(t)
	even(t, "owned", s.owned(), "n0", "n2")
	if s.copies != 0 || s.moves > 10 || s.held()["n1"] != 16 || s.fault != "" {
		t.Errorf("drained: %d copies, %d moves, copies on %v; %s", s.copies, s.moves, s.held(), s.fault)
	}
	s.Aim.Drained = nil
	s.copies, s.moves = 0, 0
	s.settle(t)
	even(t, "owned", s.owned(), "n0", "n1", "n2")
	if s.copies != 0 || s.moves != 8 || s.fault != "" {
		t.Errorf("back: %d copies, %d moves, want 0, 8; %s", s.copies, s.moves, s.fault)
	}
	s.copies, s.moves = 0, 0
	s.Aim.Leaving = []string{"n1"}
	s.settle(t)
	even(t, "owned", s.owned(), "n0", "n2")
	even(t, "copies", s.held(), "n0", "n2")
	if s.copies != 16 || s.fault != "" {
		t.Errorf("left: %d copies, want 16; %s", s.copies, s.fault)
	}
}

// TestDrainedAlone: the last node that can own a partition does, drained or not.
func TestDrainedAlone(t *testing.T) {
	s := newSim(24, 2, "n0")
	s.start("n1")
	s.settle(t)
	s.Aim.Leaving = []string{"n0", "n1"}
	s.settle(t)
	s.kill("n0")
	s.settle(t)
	if got := s.owned()["n1"]; got != 24 || s.fault != "" {
		t.Errorf("n1 owns %d, want all; %s", got, s.fault)
	}
}

// TestFullDisk: a node that takes no copy holds up nobody else, and loses none of what it has.
func TestFullDisk(t *testing.T) {
	s := newSim(24, 2, "n0")
	s.start("n1", "n2")
	for range 8 {
		s.tick(true)
	}
	s.node("n2").Refuses = true
	has := s.held()["n2"]
	s.settle(t)
	if s.held()["n1"] == 0 || s.held()["n2"] == 0 || s.held()["n2"] > has {
		t.Errorf("copies %v, and %d before the disk was full", s.held(), has)
	}
	for i, p := range s.Partitions {
		if len(p.InSync) != 2 {
			t.Errorf("partition %d: in sync %v, want two", i, p.InSync)
		}
	}
	s.node("n2").Refuses = false
	s.settle(t)
	even(t, "copies", s.held(), "n0", "n1", "n2")
	even(t, "owned", s.owned(), "n0", "n1", "n2")
	if s.fault != "" {
		t.Error(s.fault)
	}
}

// TestCampaign: whatever happens to nodes, as long as one copy of each partition lives, nothing that is moved loses one;
// and when it is quiet everything becomes even, and stays as it is.
func TestCampaign(t *testing.T) {
	runs := 60
	if seeded.Long() {
		runs = 1000
	}
	random := seeded.Rand(t)
	moves, copies := 0, 0
	for run := range runs {
		seed := random.Uint64()
		r := rand.New(rand.NewPCG(seed, 70))
		s := newSim(1+r.IntN(24), 2+r.IntN(2), "n0")
		names := []string{"n0"}
		for n := range 1 + r.IntN(5) {
			names = append(names, fmt.Sprint("n", n+1))
		}
		s.start(names...)
		for range 30 {
			for range r.IntN(30) {
				s.tick(r.IntN(4) > 0) // without a leader nothing moves, all goes on
			}
			s.trouble(r, names)
		}
		s.start(names...)
		for i := range s.Nodes {
			s.Nodes[i].Refuses, s.Nodes[i].Declines = false, false
		}
		s.Aim.Drained, s.Aim.Leaving = nil, nil
		s.settle(t)
		even(t, "copies", s.held(), names...)
		even(t, "owned", s.owned(), names...)
		want := min(s.Aim.Replicas, len(names))
		for i, p := range s.Partitions {
			if len(p.InSync) != want || len(s.Of(i)) != want {
				t.Errorf("partition %d: in sync %v, map %v, want %d", i, p.InSync, s.Of(i), want)
			}
		}
		if s.fault != "" {
			t.Error(s.fault)
		}
		if t.Failed() {
			t.Fatalf("run %d, seed %d", run, seed)
		}
		moves, copies = moves+s.moves, copies+s.copies
	}
	t.Logf("%d runs: %d moves, %d copies", runs, moves, copies)
	if moves < runs || copies < runs {
		t.Error("too little happened to prove anything")
	}
}

// trouble does one thing to a node.
func (s *sim) trouble(r *rand.Rand, names []string) {
	name := names[r.IntN(len(names))]
	n := s.node(name)
	switch r.IntN(8) {
	case 0, 1:
		s.kill(name)
	case 2, 3:
		s.start(name)
	case 4:
		n.Refuses = !n.Refuses
	case 5:
		n.Declines = !n.Declines
	case 6:
		s.Aim.Drained = []string{name}
	default:
		s.Aim.Drained, s.Aim.Leaving = nil, []string{name}
	}
}

// TestStrange: a map that does not fit what is seen breaks nothing.
func TestStrange(t *testing.T) {
	m := placement.Map{Members: [][]string{{"n9"}, {"n1", "n9"}}}
	v := placement.View{Aim: placement.Aim{Replicas: 2}, Nodes: []placement.Node{{Name: "n1", Alive: true}}, Partitions: []placement.Partition{{}, {InSync: []string{"n1"}}}}
	next := placement.Next(m, v)
	if next.First(1) != "n1" || next.First(7) != "" || len(next.Of(0)) == 0 {
		t.Errorf("next %v", next)
	}
}
