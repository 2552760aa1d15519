package cluster

// member.go: one node's part in one partition. Member.Run is one goroutine; Member.mu guards
// the standing that others ask for.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// Errors that end a member: its copy is not what the log was made from, or cannot catch up.
var (
	// ErrRebuild says that the log does not reach back to where the copy is.
	ErrRebuild = errors.New("the log was trimmed beyond what this node has: its store must be rebuilt from another node's")
	// ErrBehind says that the log ends before what the copy has applied.
	ErrBehind = fmt.Errorf("%w: the log ends below what this node's store holds: sextant cluster recover", ErrSetBack)
)

// Copy is one node's copy of a partition: the store, as far as the log concerns it.
//
// A copy applies whole steps in the log's order and nothing else, so two copies at the same
// position are equal. After a crash it is at some position that Sync had returned, or later.
type Copy interface {
	// Applied is the position behind the last step that is applied. Any goroutine may ask.
	Applied() entry.Position
	// Apply applies one step and moves Applied behind it, atomically. It is not called while
	// Lead runs.
	Apply(ctx context.Context, step []byte, behind entry.Position) error
	// Sync makes what is applied safe from a power cut, and says how far that reaches, at
	// least. It may be called while Lead runs.
	Sync(ctx context.Context) (entry.Position, error)
	// Lead writes to the partition through l until ctx ends, and returns when nothing acts any
	// more: no append is under way, no request to a site or an indexer. A step that l.Append has
	// appended is applied, in that order, before its caller is told. When Lead returns the
	// partition is released, unless it was lost; what was appended and not applied is applied then from the log. An
	// error ends the member: this copy cannot lead. ctx's cause is ErrFenced if the claim was lost.
	Lead(ctx context.Context, l *Lead) error
}

// Role is what a member is doing.
type Role uint8

// The roles. A member goes from CatchingUp to Standby, from there by a claim to TakingOver and
// Active, and from these, when the claim is lost or given up, through Fenced to CatchingUp.
const (
	CatchingUp Role = iota // reads the log to its end; claims nothing
	Standby                // follows the log, and may claim if it is in the in-sync set
	TakingOver             // has claimed, and reads what the last owner appended
	Active                 // owns the partition
	Fenced                 // has lost it, and waits until nothing acts for it any more
	rolesEnd
)

// String is the role in the words of status and logs.
func (r Role) String() string {
	return [rolesEnd]string{"catching up", "standby", "taking over", "active", "fenced"}[r]
}

// Standing is how a member stands, for status and console.
type Standing struct {
	Role  Role
	Epoch int64 // if Role is TakingOver or Active
	// InSync is the in-sync set, and Owner the seat that owns the partition, both as last seen.
	InSync []Seat
	Owner  Seat
	// OwnerAddresses are where it is reached.
	OwnerAddresses Addresses
	// Behind is how many bytes of the log are not applied yet, as last seen.
	Behind uint64
	// Unprotected says, at the owner, why its loss would stop the crawl; at others, why it
	// would not be this node that takes over. "" if all is well.
	Unprotected string
	// Kept is, at the owner, how many bytes of the log the slowest copy of the set does not have safe: so much of it
	// cannot be trimmed.
	Kept uint64
	// Held is why nothing is appended: the engine is nearly full. "" if all is well.
	Held string
	// TakenOver is when the owner claimed, by its time of day, and Why; Usage is how full the engine is. All as last seen.
	TakenOver time.Time
	Why       string
	Usage     Usage
	// Silent is since when the engine has not answered; zero if it does.
	Silent time.Time
}

// MemberSettings are what a member is made from.
type MemberSettings struct {
	Partition Partition
	Store     string // the id of the copy's store
	Copy      Copy
	// MaxBehind is how many bytes of the log a copy may lag before it leaves the in-sync set.
	// 0: 256 MiB.
	MaxBehind uint64
}

// Member is one node's part in one partition.
type Member struct {
	node      *Node
	partition Partition
	seat      Seat
	copy      Copy
	maxBehind uint64
	log       *slog.Logger

	// Of Run's goroutine, or of the chores while it waits for them.
	owner  ownership // as last seen
	reader reader
	watch  watch
	synced time.Duration // when the copy was synced last
	rest   time.Duration // it claims nothing before: it has just given up

	mu       sync.Mutex
	standing Standing
	handing  func() // see HandOver; nil while it does not lead
}

// Member makes a member of the node. It does nothing until Run.
func (n *Node) Member(s MemberSettings) (*Member, error) {
	if s.Partition < 0 || int(s.Partition) >= n.meta.Partitions {
		return nil, fmt.Errorf("partition %d: the cluster has %d", s.Partition, n.meta.Partitions)
	}
	if s.MaxBehind == 0 {
		s.MaxBehind = 256 << 20
	}
	return &Member{
		node: n, partition: s.Partition, seat: Seat{Node: n.name, Store: s.Store}, copy: s.Copy, maxBehind: s.MaxBehind,
		log: n.log.With("partition", s.Partition.String()),
	}, nil
}

// Partition is the member's.
func (m *Member) Partition() Partition { return m.partition }

// Standing is how the member stands now.
func (m *Member) Standing() Standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.standing
	s.Held, s.Silent, s.Usage = m.node.Held(), m.node.Silent(), m.node.guard.usage()
	return s
}

func (m *Member) stand(change func(*Standing)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.standing)
}

func (m *Member) become(r Role, epoch Revision) {
	if s := m.Standing(); s.Role == r && s.Epoch == int64(epoch) && r != CatchingUp {
		return
	}
	m.log.Info("role in the cluster", "role", r.String(), "epoch", int64(epoch))
	m.stand(func(s *Standing) { s.Role, s.Epoch, s.Unprotected, s.Kept = r, int64(epoch), "", 0 })
}

// Run follows the log, claims the partition when it is free, leads, and begins again, until ctx
// ends, which is no error. Node.Run must run meanwhile.
func (m *Member) Run(ctx context.Context) error {
	err := m.run(ctx)
	if errors.Is(err, ErrRebuild) || errors.Is(err, ErrDiverged) || errors.Is(err, entry.ErrDamaged) {
		m.leave(ctx)
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ErrInDoubt) || errors.Is(err, ErrUnavailable)) {
		return nil
	}
	return err
}

func (m *Member) run(ctx context.Context) error {
	for {
		m.become(CatchingUp, 0)
		m.reader = reader{m.copy.Applied(), entry.Joiner{Packer: m.node.packer}}
		m.watch = watch{}
		h, err := m.standBy(ctx)
		if err != nil {
			return err
		}
		m.become(TakingOver, h.epoch)
		err = m.takeOver(ctx, h)
		if err == nil {
			m.become(Active, h.epoch)
			err = m.lead(ctx, h)
		}
		m.become(Fenced, 0)
		m.giveUp(ctx, h, err)
		if err != nil && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrDeaf) {
			return err
		}
	}
}

// giveUp releases what nothing acts for any more; a claim that was lost is left alone by the
// release's condition. It goes on for a while when the process is to stop: otherwise the others would
// have to wait for its silence. A member that gives up by itself lets the others claim first.
func (m *Member) giveUp(ctx context.Context, h *hold, why error) {
	if !errors.Is(why, ErrFenced) {
		m.rest = m.node.clock.Now() + m.node.times.Silence
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.node.times.Silence)
	defer cancel()
	words := "in order"
	select {
	case <-h.leaving:
		words = "handed over"
	default:
	}
	if why != nil {
		words = why.Error()
	}
	if err := m.node.release(ctx, h, m.seat, words); err != nil {
		m.log.Warn("the partition could not be released: another node takes over after a silence", "error", err)
	}
}

// takeOver reads the log to its end under the new epoch: nothing of an older one can follow.
func (m *Member) takeOver(ctx context.Context, h *hold) error {
	for {
		if why := h.right.over(); why != nil {
			return why
		}
		v, err := m.node.engine.read(ctx, metaKey, headKey(m.partition), firstKey(m.partition), ownKey(m.partition))
		if err == nil {
			if v.Keys[3].Revision != h.epoch {
				m.node.drop(h, ErrFenced)
				return ErrFenced
			}
			if err = m.follow(ctx, v.Keys[0], v.Keys[1], v.Keys[2]); err == nil {
				h.end, h.endAt = m.reader.at, v.Keys[1].Revision
				return nil
			}
		}
		if err := m.patience(ctx, err); err != nil {
			return err
		}
	}
}

// patience waits a moment after what passes by itself, and returns every other error.
func (m *Member) patience(ctx context.Context, err error) error {
	if Passes(err) || errors.Is(err, ErrFull) {
		return m.node.clock.Sleep(ctx, m.node.times.Retry)
	}
	return err
}
