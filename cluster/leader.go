package cluster

// leader.go: who writes the map. Any node may; one claims it, as partitions are claimed, so that not all of them work it out. Each
// step that writes the map compares the claim, so a leader that was replaced changes nothing any more, whatever it believes.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/cluster/placement"
)

// leadership is the value of the key leader.
type leadership struct {
	Node     string    `json:"node"`
	Session  string    `json:"session"`
	Released bool      `json:"released,omitempty"`
	Since    time.Time `json:"since,omitzero"`
}

// candidate is what a node has seen of the leader, and what it knows if it is the leader.
type candidate struct {
	last  leadership
	watch watch
	at    Revision // of the key
	sight *sight   // nil: it does not lead
}

// leadership follows the map, each Times.Beat, and changes it while this node is the leader. What cannot be done now is done in
// the next round: nobody depends on it.
func (n *Node) leadership(ctx context.Context) error {
	c := &candidate{}
	for {
		if err := n.mapRound(ctx, c); err != nil {
			c.watch = watch{}
			n.log.Debug("a look at the map was not done", "error", err)
		}
		if err := n.clock.Sleep(ctx, n.times.Beat); err != nil {
			return err
		}
	}
}

func (n *Node) mapRound(ctx context.Context, c *candidate) error {
	v, err := n.engine.read(ctx, metaKey, leaderKey, mapKey, beatKey(c.last.Node, c.last.Session))
	if err != nil {
		return err
	}
	leader, beats := v.Keys[1], v.Keys[3].Revision
	if v.Keys[0].Revision != n.metaAt {
		return n.recovered()
	}
	c.at, c.last = leader.Revision, leadership{}
	if leader.Revision != 0 {
		if err := read(leader, &c.last); err != nil {
			return err
		}
	}
	if m, at, err := n.meta.mapOf(v.Keys[2]); err != nil {
		return err
	} else if at != 0 {
		n.chart.saw(m, at)
	}
	now := n.clock.Now()
	if c.watch.own != leader.Revision || c.watch.beat != beats && beats != 0 || c.watch.since == 0 {
		c.watch.own, c.watch.since = leader.Revision, now
	}
	c.watch.beat = beats // one that was taken away is no sign of life
	switch {
	case c.last.Session == n.run && !c.last.Released:
		return n.placeAll(ctx, c)
	case leader.Revision == 0 || c.last.Released || now-c.watch.since >= n.times.Silence:
		c.sight = nil
		return n.claimMap(ctx, c)
	}
	c.sight = nil
	return nil
}

// mapOf reads the map; its revision is 0 if there is none, or none of this incarnation.
func (m Meta) mapOf(kv KeyValue) (placement.Map, Revision, error) {
	var of mapped
	if kv.Revision == 0 {
		return of.Map, 0, nil
	}
	err := read(kv, &of)
	if err != nil || of.Incarnation != m.Incarnation || len(of.Members) != m.Partitions {
		return placement.Map{}, 0, err
	}
	return of.Map, kv.Revision, nil
}

// claimMap makes this node the leader, if nothing has changed meanwhile; the next round tells.
func (n *Node) claimMap(ctx context.Context, c *candidate) error {
	out, err := n.engine.commit(ctx, Step{
		If:   []Condition{n.same(), {leaderKey, c.at}, {beatKey(c.last.Node, c.last.Session), c.watch.beat}},
		Then: []Write{Put(leaderKey, leadership{Node: n.name, Session: n.run, Since: n.clock.Wall()})},
	})
	if err == nil && out.Taken {
		n.log.Info("this node writes the map of the cluster")
	}
	return err
}

// resign lets another node write the map at once.
func (n *Node) resign(ctx context.Context) {
	if n.meta.Partitions == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.times.Beat)
	defer cancel()
	v, err := n.engine.read(ctx, leaderKey)
	var l leadership
	if err != nil || v.Keys[0].Revision == 0 || read(v.Keys[0], &l) != nil || l.Session != n.run {
		return
	}
	l.Released = true
	_, err = n.engine.commit(ctx, Step{If: []Condition{n.same(), {leaderKey, v.Keys[0].Revision}}, Then: []Write{Put(leaderKey, l)}})
	if err != nil {
		n.log.Debug("the map was not left to others: they claim it after a silence", "error", err)
	}
}

// sight is what a leader has seen of the nodes since it began, by its own clock.
type sight struct {
	began time.Duration
	Signs
	absent   map[string]time.Duration // nodes that have no beat at all, since when
	moves    map[int]time.Duration    // hand-overs that were begun, since when
	declines map[string]time.Duration // nodes that did not take over, until when they are left alone
}

func newSight(now time.Duration) *sight {
	return &sight{began: now, absent: map[string]time.Duration{}, moves: map[int]time.Duration{}, declines: map[string]time.Duration{}}
}

// placeAll changes the map, if that is due. A leader that has just begun knows of nobody how long he has been away.
func (n *Node) placeAll(ctx context.Context, c *candidate) error {
	now := n.clock.Now()
	if c.sight == nil {
		c.sight = newSight(now)
	}
	from, to := Folder(BeatFolder)
	beats, err := n.engine.all(ctx, from, to)
	if err != nil {
		return err
	}
	c.sight.Take(beats.Keys, now)
	if now-c.sight.began < n.times.Silence {
		return nil
	}
	s, err := n.survey(ctx, c)
	if err != nil {
		return err
	}
	next := placement.Next(s.now, s.View)
	if s.at != 0 && !placement.Due(s.now, next, s.View) {
		return nil
	}
	out, err := n.engine.commit(ctx, Step{If: s.seen, Then: []Write{Put(mapKey, mapped{n.meta.Incarnation, next})}})
	if err != nil || !out.Taken {
		return err
	}
	n.tellMap(s.now, next)
	n.chart.saw(next, out.Revision)
	return nil
}

func (n *Node) tellMap(before, now placement.Map) {
	for i, of := range now.Members {
		if !slices.Equal(of, before.Of(i)) {
			n.log.Info("the map of the cluster changes", "partition", Partition(i).String(), "nodes", of, "before", before.Of(i))
		}
	}
}

// survey is all that the map is made by, and the conditions that nothing of it has changed.
type survey struct {
	placement.View
	now  placement.Map
	at   Revision
	seen []Condition
}

func (n *Node) survey(ctx context.Context, c *candidate) (s survey, err error) {
	keys := []string{metaKey, leaderKey, mapKey, aimKey}
	for p := range Partition(n.meta.Partitions) {
		keys = append(keys, ownKey(p), setKey(p))
	}
	v, err := n.engine.read(ctx, keys...)
	if err != nil {
		return s, err
	}
	for _, kv := range v.Keys {
		s.seen = append(s.seen, Condition{kv.Key, kv.Revision})
	}
	if v.Keys[0].Revision != n.metaAt || v.Keys[1].Revision != c.at {
		return s, ErrFenced
	}
	if s.now, s.at, err = n.meta.mapOf(v.Keys[2]); err != nil {
		return s, err
	}
	if s.Aim, err = aimOf(v.Keys[3]); err != nil {
		return s, err
	}
	members := map[string]bool{}
	for i := range n.meta.Partitions {
		if err := s.partition(n, c.sight, i, v.Keys[4+2*i], v.Keys[5+2*i]); err != nil {
			return s, err
		}
		for _, name := range s.now.Of(i) {
			members[name] = true
		}
	}
	s.nodes(n, c.sight, members)
	return s, nil
}

// partition takes in who owns a partition and who is in sync. Where there is no map yet these are in it.
func (s *survey) partition(n *Node, of *sight, i int, ownKV, setKV KeyValue) error {
	var own ownership
	var set syncSet
	if err := errors.Join(read(ownKV, &own), read(setKV, &set)); err != nil {
		return err
	}
	now := n.clock.Now()
	p := placement.Partition{Fresh: ownKV.Revision > s.at}
	if !own.Released && of.lives(beatKey(own.Node, own.Session), now, n.times.Silence) {
		p.Owner = own.Node
	}
	for _, seat := range set.Seats {
		p.InSync = append(p.InSync, seat.Node)
	}
	if s.at == 0 {
		names := append([]string{own.Node}, slices.DeleteFunc(slices.Clone(p.InSync), func(name string) bool { return name == own.Node })...)
		s.now.Members = append(s.now.Members, names)
	}
	s.Partitions = append(s.Partitions, p)
	of.moving(i, s.now.First(i), p, now, n.times)
	return nil
}

// moving notes how long a partition has been about to change its owner. A node that does not take it for long is left alone.
func (s *sight) moving(i int, to string, p placement.Partition, now time.Duration, t Times) {
	since, known := s.moves[i]
	switch {
	case p.Owner == to || p.Fresh || !slices.Contains(p.InSync, to):
		delete(s.moves, i)
	case !known:
		s.moves[i] = now
	case now-since > 3*t.HandOver:
		s.declines[to] = now + t.Gone
		delete(s.moves, i)
	}
}

// nodes takes in who lives, of all that beat or are members.
func (s *survey) nodes(n *Node, of *sight, members map[string]bool) {
	now, last, signs := n.clock.Now(), map[string]time.Duration{}, map[string]sign{}
	for key, one := range of.beats {
		name := nodeOfBeat(key)
		delete(of.absent, name)
		if before, known := last[name]; !known || one.since > before {
			last[name], signs[name] = one.since, one
		}
	}
	for name := range members {
		if _, beats := last[name]; beats {
			continue
		}
		if _, known := of.absent[name]; !known {
			of.absent[name] = now
		}
		last[name] = of.absent[name] - n.times.Silence
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		away := now - last[name]
		s.Nodes = append(s.Nodes, placement.Node{
			Name: name, Alive: away < n.times.Silence, Gone: away >= n.times.Gone,
			Refuses: signs[name].refuses, Declines: signs[name].unfit || now < of.declines[name],
		})
	}
}
