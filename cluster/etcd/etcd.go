// Package etcd is a cluster.Engine on etcd, and the only package that knows it. It uses of etcd what
// Jepsen and etcd's own robustness tests try most: keys, transactions, linearizable reads. It uses
// neither leases nor locks, since a leader that is stuck lets them end wrongly
// (etcd-io/etcd#15247), and a watch only wakes.
//
// An Engine has no goroutine of its own; those of the clients end with Close. Engine.turn and Engine.listed are atomic:
// all goroutines of a node call at once. There is no lock.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/sextant-crawler/sextant/cluster"
)

// Settings are how an etcd is reached.
type Settings struct {
	// Endpoints are the client URLs of all members, such as https://a:2379. Each has a client of its
	// own: one client that balances over all was seen to wait 12 s for a member that was stopped.
	Endpoints []string
	// Prefix is where the cluster's keys lie. It ends with a slash; "": "sextant/".
	Prefix string
	// TLS has the certificate that names the user; nil: none.
	TLS   *tls.Config
	files Files // of TLS, for words
	// Timeout is how long one member may take to answer. 0: 1.5 s, which is more than a
	// member needs with a disk that is usable, and lets a beat try the next one in time.
	Timeout time.Duration
	// QuotaBytes is etcd's --quota-backend-bytes, which etcd before 3.6 does not tell. 0: its default, 2 GiB.
	QuotaBytes int64
}

// Engine is an etcd. Open makes one.
type Engine struct {
	prefix  string
	timeout time.Duration
	quota   int64
	members []*clientv3.Client
	names   []string      // their endpoints
	turn    atomic.Uint32 // which member is asked first: the next one after a failure
	listed  atomic.Int64  // how many keys a list asks for, by the sizes seen
	secure  secure
}

// secure is how the members are asked by hand why they do not answer.
type secure struct {
	Files
	TLS *tls.Config
}

// Open makes an engine. It connects when it is used first.
func Open(s Settings) (*Engine, error) {
	if len(s.Endpoints) == 0 {
		return nil, errors.New("etcd: no endpoint: write the client URLs of its members")
	}
	e := &Engine{prefix: s.Prefix, timeout: s.Timeout, quota: s.QuotaBytes, names: s.Endpoints, secure: secure{s.files, s.TLS}}
	if e.prefix == "" {
		e.prefix = "sextant/"
	}
	if !strings.HasSuffix(e.prefix, "/") {
		return nil, fmt.Errorf("etcd: prefix %q: it ends with a slash", e.prefix)
	}
	if e.timeout == 0 {
		e.timeout = 1500 * time.Millisecond
	}
	if e.quota == 0 {
		e.quota = 2 << 30
	}
	e.listed.Store(4)
	reconnect := backoff.DefaultConfig
	reconnect.BaseDelay, reconnect.MaxDelay = 100*time.Millisecond, time.Second // gRPC's own would wait two minutes
	for _, endpoint := range s.Endpoints {
		c, err := clientv3.New(clientv3.Config{
			Endpoints: []string{endpoint}, TLS: s.TLS, Logger: zap.NewNop(), DialTimeout: e.timeout,
			DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
			DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: e.timeout})},
		})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("etcd: endpoint %s: %w", endpoint, err), e.Close())
		}
		e.members = append(e.members, c)
	}
	return e, nil
}

// Close ends all connections.
func (e *Engine) Close() error {
	var errs []error
	for _, c := range e.members {
		if err := c.Close(); err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// member is the one whose turn it is.
func (e *Engine) member() (c *clientv3.Client, turn uint32) {
	turn = e.turn.Load()
	return e.members[turn%uint32(len(e.members))], turn
}

// failed passes the turn on, once for all calls that failed with the same member.
func (e *Engine) failed(turn uint32) { e.turn.CompareAndSwap(turn, turn+1) }

// attempt is a call to one member: it ends in time, and at once if the member sees no leader.
func (e *Engine) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(clientv3.WithRequireLeader(ctx), e.timeout)
}

// Commit sends a step to one member, once. The client library sends a transaction that writes
// again only if it had no connection at all.
func (e *Engine) Commit(ctx context.Context, s cluster.Step) (cluster.Outcome, error) {
	c, turn := e.member()
	if c.Ctx().Err() != nil {
		return cluster.Outcome{}, fmt.Errorf("%w: it is closed", cluster.ErrInDoubt)
	}
	ctx, cancel := e.attempt(ctx)
	defer cancel()
	answer, err := c.Txn(ctx).If(e.conditions(s)...).Then(e.writes(s)...).Else(e.reads(s)...).Commit()
	if err != nil {
		err = ofCommit(err)
		if !errors.Is(err, cluster.ErrRefused) {
			e.failed(turn)
		}
		return cluster.Outcome{}, err
	}
	out := cluster.Outcome{Taken: answer.Succeeded, Revision: cluster.Revision(answer.Header.Revision)}
	if !answer.Succeeded {
		for i, r := range answer.Responses {
			out.Found = append(out.Found, e.only(s.If[i].Key, r.GetResponseRange()))
		}
	}
	return out, nil
}

func (e *Engine) conditions(s cluster.Step) (all []clientv3.Cmp) {
	for _, c := range s.If {
		all = append(all, clientv3.Compare(clientv3.ModRevision(e.prefix+c.Key), "=", int64(c.Revision)))
	}
	return all
}

func (e *Engine) writes(s cluster.Step) (all []clientv3.Op) {
	for _, w := range s.Then {
		switch {
		case !w.Remove:
			all = append(all, clientv3.OpPut(e.prefix+w.Key, string(w.Value)))
		case w.To != "":
			all = append(all, clientv3.OpDelete(e.prefix+w.Key, clientv3.WithRange(e.prefix+w.To)))
		default:
			all = append(all, clientv3.OpDelete(e.prefix+w.Key))
		}
	}
	return all
}

func (e *Engine) reads(s cluster.Step) (all []clientv3.Op) {
	for _, c := range s.If {
		all = append(all, clientv3.OpGet(e.prefix+c.Key))
	}
	return all
}

// ask calls member after member until one answers, each of them once.
func ask[T any](ctx context.Context, e *Engine, call func(context.Context, *clientv3.Client) (T, error)) (answer T, err error) {
	for range e.members {
		c, turn := e.member()
		if c.Ctx().Err() != nil {
			return answer, fmt.Errorf("%w: it is closed", cluster.ErrUnavailable)
		}
		attempt, cancel := e.attempt(ctx)
		answer, err = call(attempt, c)
		cancel()
		if err == nil {
			return answer, nil
		}
		if err = ofRead(err); !errors.Is(err, cluster.ErrUnavailable) {
			return answer, err
		}
		e.failed(turn)
		if ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

// Read gives keys, all as of one revision: a transaction that only reads is linearizable, and one moment.
func (e *Engine) Read(ctx context.Context, keys ...string) (cluster.View, error) {
	ops := make([]clientv3.Op, 0, len(keys))
	for _, k := range keys {
		ops = append(ops, clientv3.OpGet(e.prefix+k))
	}
	answer, err := ask(ctx, e, func(ctx context.Context, c *clientv3.Client) (*clientv3.TxnResponse, error) {
		return c.Txn(ctx).Then(ops...).Commit()
	})
	if err != nil {
		return cluster.View{}, err
	}
	v := cluster.View{Revision: cluster.Revision(answer.Header.Revision)}
	for i, r := range answer.Responses {
		v.Keys = append(v.Keys, e.only(keys[i], r.GetResponseRange()))
	}
	return v, nil
}

// An answer of etcd has no limit in bytes, so the number of keys follows their sizes.
const (
	smallAnswer = 512 << 10
	largeAnswer = 4 << 20
	mostListed  = 1024
)

// List gives a range of keys.
func (e *Engine) List(ctx context.Context, from, to string, limit int) (cluster.View, error) {
	asked := min(int64(limit), e.listed.Load())
	answer, err := ask(ctx, e, func(ctx context.Context, c *clientv3.Client) (*clientv3.GetResponse, error) {
		return c.Get(ctx, e.prefix+from, clientv3.WithRange(e.prefix+to), clientv3.WithLimit(asked))
	})
	if err != nil {
		e.listed.Store(1) // perhaps it was too much for the time
		return cluster.View{}, err
	}
	v, size := cluster.View{Revision: cluster.Revision(answer.Header.Revision), More: answer.More}, 0
	for _, kv := range answer.Kvs {
		v.Keys = append(v.Keys, cluster.KeyValue{Key: strings.TrimPrefix(string(kv.Key), e.prefix), Value: kv.Value, Revision: cluster.Revision(kv.ModRevision)})
		size += len(kv.Key) + len(kv.Value)
	}
	switch {
	case size > largeAnswer:
		e.listed.Store(max(1, asked/2))
	case size < smallAnswer && int64(len(v.Keys)) == asked:
		e.listed.Store(min(mostListed, 2*asked))
	}
	return v, nil
}
