// Package shared keeps what is one for all nodes of a cluster: the configuration, and small values such as that the
// crawl is paused. It lies in the cluster's engine beside the logs.
//
// A new configuration comes into force in two phases. It is proposed; each node that lives reads it, compiles it
// and says that it is ready, or why it cannot be; when all are ready, one step makes it the active one, and
// each node swaps. If one cannot, the proposal is refused with its words, and nothing has changed. No node has a part of its
// own in this: whoever looks and finds that all have answered takes the step, which compares all that it was decided by.
//
// There is no goroutine and no lock here: Node.Run and Apply run where they are called.
package shared

// Keys, below the engine's prefix; their values are JSON, except parts. Only ever overwritten, never removed,
// so that a step that arrives late finds another revision:
//
//	shared/active      the configuration in force
//	shared/proposed    the one that was proposed last
//	shared/ready/NODE  what a node said of a proposal
//	shared/value/NAME  small values
//	shared/part/ID/N   the parts of configurations, removed when nobody can want them any more

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// Errors of changes.
var (
	// ErrChanged says that somebody else was faster: what was to be changed is not what it was.
	ErrChanged = errors.New("it was changed meanwhile")
	// ErrRefused says that a node cannot use a configuration, and why. Nothing has changed.
	ErrRefused = errors.New("the configuration is not put in force")
)

const (
	activeKey   = "shared/active"
	proposedKey = "shared/proposed"
	metaKey     = "meta" // of package cluster; a recovery writes it anew
)

func readyKey(node string) string     { return "shared/ready/" + node }
func valueKey(name string) string     { return "shared/value/" + name }
func partFolder(id string) string     { return "shared/part/" + id + "/" }
func partKey(id string, n int) string { return fmt.Sprintf("%s%04d", partFolder(id), n) }

// Version says which configuration something is about; the zero one is that before the first.
type Version struct {
	Number int64     `json:"number"`
	ID     string    `json:"id"` // drawn for each proposal
	Parts  int       `json:"parts"`
	Sum    string    `json:"sha256"` // of the whole
	By     string    `json:"by"`     // for people
	At     time.Time `json:"at"`
	// Seal shows that who proposed it has a secret of the nodes, see Proposal.Seal and Sealed.
	Seal string `json:"seal,omitempty"`
	// Former are the IDs of the configurations that were in force before, the latest first: who waits for one that was soon
	// replaced finds it here.
	Former []string `json:"former,omitempty"`
	// Word is the operator's for what changed rules delete.
	Word bool `json:"word,omitempty"`
	// Trial is a proposal that is not to come into force: the nodes only say whether they can use it.
	Trial bool `json:"trial,omitempty"`
	// Refused says why a proposal will never be in force; "" while it may be.
	Refused string `json:"refused,omitempty"`
}

// Sealed is what a seal is of: all that decides what is in force and what that may delete. The text is in it by its checksum.
func (v *Version) Sealed() string {
	return fmt.Sprintf("%d %s %s word=%t trial=%t", v.Number, v.ID, v.Sum, v.Word, v.Trial)
}

// trialPassed ends a trial that all nodes can use.
const trialPassed = "all nodes can use it; it was a trial"

// formerMost is how many of them are kept.
const formerMost = 16

// answer is what a node says of a proposal.
type answer struct {
	ID      string `json:"id"`
	Refused string `json:"refused,omitempty"`
}

// state is what decisions rest on, as of one moment.
type state struct {
	meta, activeAt, proposedAt cluster.Revision
	active, proposed           Version
}

// pending reports whether a proposal waits for nodes.
func (s *state) pending() bool {
	return s.proposed.Refused == "" && s.proposed.Number > s.active.Number
}

// conditions hold while nobody has changed anything.
func (s *state) conditions() []cluster.Condition {
	return []cluster.Condition{{Key: metaKey, Revision: s.meta}, {Key: activeKey, Revision: s.activeAt}, {Key: proposedKey, Revision: s.proposedAt}}
}

func look(ctx context.Context, e cluster.Engine) (s state, err error) {
	v, err := e.Read(ctx, metaKey, activeKey, proposedKey)
	if err != nil {
		return s, err
	}
	s.meta, s.activeAt, s.proposedAt = v.Keys[0].Revision, v.Keys[1].Revision, v.Keys[2].Revision
	return s, errors.Join(v.Keys[1].Decode(&s.active), v.Keys[2].Decode(&s.proposed))
}

// Active is the configuration in force; nil content if there never was one.
func Active(ctx context.Context, e cluster.Engine) (Version, []byte, error) {
	s, err := look(ctx, e)
	if err != nil || s.active.Number == 0 {
		return s.active, nil, err
	}
	content, err := download(ctx, e, &s.active)
	return s.active, content, err
}

// Value reads a small value into v, which stays as it is if there is none, and returns the revision that SetValue compares.
func Value(ctx context.Context, e cluster.Engine, name string, v any) (cluster.Revision, error) {
	all, err := e.Read(ctx, valueKey(name))
	if err != nil {
		return 0, err
	}
	return all.Keys[0].Revision, all.Keys[0].Decode(v)
}

// SetValue writes a small value over the revision that Value gave. ErrChanged if there is another one by now. After an error of the engine
// the value may be written all the same: who must know reads it again.
func SetValue(ctx context.Context, e cluster.Engine, name string, over cluster.Revision, v any) error {
	out, err := e.Commit(ctx, cluster.Step{If: []cluster.Condition{{Key: valueKey(name), Revision: over}}, Then: []cluster.Write{cluster.Put(valueKey(name), v)}})
	if err == nil && !out.Taken {
		err = fmt.Errorf("%s: %w", name, ErrChanged)
	}
	return err
}

// once is who does something that is to be done once.
type once struct {
	By string `json:"by"`
}

// Once reports whether the caller, by a name of its own, is the one that does what is to be done once in the cluster, such
// as sending a notice: the first that asks is, and stays so. It is for things whose name tells them from all earlier ones.
func Once(ctx context.Context, e cluster.Engine, name, by string) (bool, error) {
	var has once
	at, err := Value(ctx, e, "once/"+name, &has)
	if err == nil && at == 0 {
		if err = SetValue(ctx, e, "once/"+name, 0, once{by}); err == nil {
			return true, nil
		}
		// Also when the answer was lost: then it stands there, or somebody else's does.
		if _, err = Value(ctx, e, "once/"+name, &has); err == nil && has.By == "" {
			err = cluster.ErrInDoubt
		}
	}
	return err == nil && has.By == by, err
}
