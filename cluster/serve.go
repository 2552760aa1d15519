package cluster

// serve.go: which members a node has. Node.Serve has one goroutine for each partition, and waits for all; serving.turn lets one
// of them at a time make a copy.

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
)

// ErrNoCopy says that a node has no copy of a partition, or none that is whole.
var ErrNoCopy = errors.New("this node has no copy of the partition")

// Copies are the copies of partitions that a process has, and can have. The methods are called for one partition at a time
// each, for several at once.
type Copies interface {
	// Open opens the copy of a partition; ErrNoCopy if there is none.
	Open(ctx context.Context, p Partition) (Opened, error)
	// Make makes a copy from that of the node that owns the partition. What it leaves after an error is no copy.
	Make(ctx context.Context, p Partition, from Addresses) error
	// Discard takes the copy away. It is not open.
	Discard(p Partition) error
}

// Opened is a copy that is open.
type Opened struct {
	MemberSettings
	Close func() error
}

// How often a copy is tried to make before the node says that it makes none for now.
const makeTries = 5

// serving is one partition's part in Serve.
type serving struct {
	*Node
	copies    Copies
	partition Partition
	watch     func(*Member)
	turn      chan struct{}
}

// Serve has a member for each partition of which the node has a copy, makes those that the map gives to it, and takes away those that it
// has not given to it for Times.Gone, until ctx ends, which is no error. watch, if not nil, gets each member before it runs; one of the
// same partition replaces the one before. Run must run meanwhile.
func (n *Node) Serve(ctx context.Context, c Copies, watch func(*Member)) error {
	group, ctx := errgroup.WithContext(ctx)
	turn := make(chan struct{}, 1)
	for p := range Partition(n.meta.Partitions) {
		s := &serving{n, c, p, watch, turn}
		group.Go(func() error { return s.run(ctx) })
	}
	return group.Wait()
}

func (s *serving) run(ctx context.Context) error {
	for ctx.Err() == nil {
		opened, err := s.copies.Open(ctx, s.partition)
		switch {
		case errors.Is(err, ErrNoCopy):
			if err = s.vacate(ctx); err == nil {
				err = s.make(ctx)
			}
		case err == nil:
			err = s.member(ctx, opened)
		}
		if ended := ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable)); err != nil && !ended {
			return err
		}
	}
	return nil
}

// vacate takes this node out of the in-sync set of a partition of which it has no copy: its disk was replaced. Until the new copy is there the partition
// would be handed over to it again and again, and given back; that copy could not even be made where this takes longer than the owner keeps the partition.
// The last member stays: a person must decide.
func (s *serving) vacate(ctx context.Context) error {
	for {
		v, err := s.engine.read(ctx, setKey(s.partition))
		var set syncSet
		if err == nil {
			err = read(v.Keys[0], &set)
		}
		if err == nil {
			stay := slices.DeleteFunc(slices.Clone(set.Seats), func(seat Seat) bool { return seat.Node == s.name })
			if len(stay) == 0 || len(stay) == len(set.Seats) {
				return nil
			}
			var out Outcome
			out, err = s.engine.commit(ctx, Step{
				If:   []Condition{s.same(), {v.Keys[0].Key, v.Keys[0].Revision}},
				Then: []Write{Put(v.Keys[0].Key, syncSet{stay})},
			})
			if err == nil && out.Taken {
				s.log.Warn("this node leaves the in-sync set: the copy that was in it is not here any more", "partition", s.partition.String())
				return nil
			}
		}
		if err != nil && !Passes(err) && !errors.Is(err, ErrRefused) {
			return err
		}
		if err := s.clock.Sleep(ctx, s.times.Retry); err != nil {
			return err
		}
	}
}

// member follows and leads with a copy until the node stops, or the copy is of no use.
func (s *serving) member(ctx context.Context, o Opened) error {
	m, err := s.Member(o.MemberSettings)
	if err == nil {
		if s.watch != nil {
			s.watch(m)
		}
		err = m.Run(ctx)
	}
	if closed := o.Close(); closed != nil && (err == nil || errors.Is(err, errLeft)) {
		err = closed
	}
	switch {
	case errors.Is(err, ErrRebuild):
		s.log.Warn("a copy is taken away, and made anew from another node's", "partition", s.partition.String(), "reason", err)
		return s.copies.Discard(s.partition)
	case errors.Is(err, errLeft):
		// It may be given back soon, and the log may reach back to it then.
		if named, err := s.awaitNamed(ctx, s.partition, s.times.Gone); named || err != nil {
			return err
		}
		s.log.Info("a copy is taken away: other nodes have the partition", "partition", s.partition.String())
		return s.copies.Discard(s.partition)
	}
	return err
}

// make makes a copy when the map gives one to this node.
func (s *serving) make(ctx context.Context) error {
	for tries := 0; ; {
		if _, err := s.awaitNamed(ctx, s.partition, 0); err != nil {
			return err
		}
		pause := 2 * s.times.Beat
		made, err := s.makeNow(ctx)
		switch {
		case made:
			s.log.Info("this node has a copy of a partition now", "partition", s.partition.String())
			return nil
		case err != nil && ctx.Err() == nil:
			s.log.Warn("a copy was not made: it is tried again, or made elsewhere", "partition", s.partition.String(), "error", err)
			if tries++; tries == makeTries {
				tries, pause = 0, s.times.HandOver
				s.chart.refuse(err.Error(), s.clock.Now()+pause)
			}
		}
		if err := s.clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// makeNow makes the copy when it is this partition's turn; it does not if nobody owns the partition at the moment.
func (s *serving) makeNow(ctx context.Context) (made bool, err error) {
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case s.turn <- struct{}{}:
	}
	defer func() { <-s.turn }()
	if named, _ := s.chart.names(s.partition, s.name); !named {
		return false, nil
	}
	from, err := s.owner(ctx)
	if err != nil || from == nil {
		return false, err
	}
	err = s.copies.Make(ctx, s.partition, *from)
	return err == nil, err
}

// owner is where the node that owns the partition is reached; nil if none does, or it is this process's former self.
func (s *serving) owner(ctx context.Context) (*Addresses, error) {
	v, err := s.engine.read(ctx, ownKey(s.partition))
	if err != nil {
		return nil, err
	}
	var own ownership
	if err := read(v.Keys[0], &own); err != nil || own.Released || own.Node == s.name {
		return nil, err
	}
	if v, err = s.engine.read(ctx, beatKey(own.Node, own.Session)); err != nil || v.Keys[0].Revision == 0 {
		return nil, err
	}
	var b beat
	err = read(v.Keys[0], &b)
	return &b.Addresses, err
}
