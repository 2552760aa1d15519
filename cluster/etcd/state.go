package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sextant-crawler/sextant/cluster"
)

// state.go starts a goroutine for each member that it asks how it is, and waits for all.

// only is the one key of an answer, or that it is absent.
func (e *Engine) only(key string, r *pb.RangeResponse) cluster.KeyValue {
	kv := cluster.KeyValue{Key: key}
	if len(r.GetKvs()) > 0 {
		kv.Value, kv.Revision = r.Kvs[0].Value, cluster.Revision(r.Kvs[0].ModRevision)
	}
	return kv
}

// Wait waits for a change of the key by a watch. It reads first: a watch that begins at a revision which was
// compacted would end at once, for ever.
func (e *Engine) Wait(ctx context.Context, key string, after cluster.Revision) error {
	v, err := e.Read(ctx, key)
	if err != nil || v.Keys[0].Revision > after {
		return err
	}
	c, turn := e.member()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for answer := range c.Watch(ctx, e.prefix+key, clientv3.WithRev(int64(v.Revision)+1)) {
		if err := answer.Err(); err != nil {
			e.failed(turn)
			return fmt.Errorf("%w: %w", cluster.ErrUnavailable, err)
		}
		if len(answer.Events) > 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: the watch ended", cluster.ErrUnavailable)
}

// health is what one member says of itself.
type health struct {
	endpoint string
	status   *clientv3.StatusResponse
	err      error
}

// ask all members at once, each for Timeout at most.
func (e *Engine) health(ctx context.Context) (all []health) {
	all = make([]health, len(e.members))
	var g sync.WaitGroup
	for i, c := range e.members {
		g.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, e.timeout)
			defer cancel()
			all[i] = health{endpoint: e.names[i]}
			all[i].status, all[i].err = c.Status(ctx, e.names[i])
		})
	}
	g.Wait()
	return all
}

// Usage says how full the fullest member is.
func (e *Engine) Usage(ctx context.Context) (cluster.Usage, error) {
	u, err := cluster.Usage{Quota: e.quota}, cluster.ErrUnavailable
	for _, h := range e.health(ctx) {
		if h.err != nil {
			continue
		}
		err = nil
		u.InUse, u.File = max(u.InUse, h.status.DbSizeInUse), max(u.File, h.status.DbSize)
		if h.status.DbSizeQuota > 0 { // since 3.6
			u.Quota = h.status.DbSizeQuota
		}
	}
	return u, err
}

// Check refuses versions that have lost data, and endpoints of two clusters.
func (e *Engine) Check(ctx context.Context) error {
	var last error
	var first *health
	for _, h := range e.health(ctx) {
		if h.err != nil {
			last = h.err
			continue
		}
		if why := refusedVersion(h.status.Version); why != "" {
			return fmt.Errorf("%w: etcd at %s has version %s: %s", cluster.ErrUntrusted, h.endpoint, h.status.Version, why)
		}
		if first != nil && first.status.Header.ClusterId != h.status.Header.ClusterId {
			return fmt.Errorf("%w: %s and %s are members of two different clusters", cluster.ErrUntrusted, first.endpoint, h.endpoint)
		}
		first = &h
	}
	if first == nil && ctx.Err() == nil {
		if why := e.unreached(ctx); why != "" {
			return fmt.Errorf("%w: no member of etcd answers: %s", cluster.ErrUnavailable, why)
		}
	}
	if first == nil {
		return fmt.Errorf("%w: no member of etcd answers: %w", cluster.ErrUnavailable, last)
	}
	return nil
}

// refusedVersion says what to do about a version that is refused, "" if it is not. docs/decisions/0038 names the faults.
func refusedVersion(version string) string {
	const want = "use 3.4.22, 3.5.18, 3.6 or later"
	parts := strings.Split(version, ".")
	if len(parts) != 3 {
		return "this is no final release: " + want
	}
	var n [3]int
	for i, p := range parts {
		var err error
		if n[i], err = strconv.Atoi(p); err != nil {
			return "this is no final release: " + want
		}
	}
	switch {
	case n[0] != 3:
		return "it is not known: " + want + ", of 3"
	case n[1] < 4:
		return want
	case n[1] == 4 && n[2] < 22:
		return "its members can come to hold different data, and one member alone can lose what it acknowledged: " + want
	case n[1] == 5 && n[2] < 18:
		return "its members can come to hold different data after a crash: " + want
	}
	return ""
}

// Compact drops the history of all keys: etcd is Sextant's own.
func (e *Engine) Compact(ctx context.Context) error {
	v, err := e.Read(ctx, "") // any key: the revision is that of all
	if err != nil {
		return err
	}
	_, err = ask(ctx, e, func(ctx context.Context, c *clientv3.Client) (struct{}, error) {
		_, err := c.Compact(ctx, int64(v.Revision))
		if errors.Is(err, rpctypes.ErrCompacted) {
			err = nil // by another node, or by a try whose answer was lost
		}
		return struct{}{}, err
	})
	return err
}

// ofCommit says of an error whether it excludes that the step is ever taken. Only answers that etcd gives
// before it proposes a step, or when it applies it, do; everything else is in doubt, the unknown too.
func ofCommit(err error) error {
	switch known := rpctypes.Error(err); {
	case errors.Is(known, rpctypes.ErrTooManyRequests):
		return fmt.Errorf("%w: %w", cluster.ErrBusy, err)
	case errors.Is(known, rpctypes.ErrNoSpace):
		return fmt.Errorf("%w: %w", cluster.ErrFull, err)
	case errors.Is(known, rpctypes.ErrRequestTooLarge), messageTooLarge(err):
		return fmt.Errorf("%w: %w", cluster.ErrTooLarge, err)
	case errors.Is(known, rpctypes.ErrTooManyOps), errors.Is(known, rpctypes.ErrDuplicateKey), errors.Is(known, rpctypes.ErrEmptyKey), errors.Is(known, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("%w: %w", cluster.ErrRefused, err)
	}
	return fmt.Errorf("%w: %w", cluster.ErrInDoubt, err)
}

// messageTooLarge reports whether gRPC's own limit, here or there, kept the message from etcd.
func messageTooLarge(err error) bool {
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max")
}

func ofRead(err error) error {
	if errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied) {
		return fmt.Errorf("etcd: %w: the certificate's user needs read and write on the prefix", err)
	}
	return fmt.Errorf("%w: %w", cluster.ErrUnavailable, err)
}
