package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEtcd: Debian's etcd keeps the contract.
func TestEtcd(t *testing.T) {
	t.Parallel()
	servers := testetcd.Start(t, 1)
	n := 0
	clustertest.Run(t, func(t *testing.T) (a, b cluster.Engine) {
		n++
		prefix := fmt.Sprintf("suite/%d/", n)
		return open(t, prefix, servers...), open(t, prefix, servers...)
	})
}

// TestMemberDies: with one of three members killed while four nodes count, every step that was answered counts once, and one that was not
// at most once.
func TestMemberDies(t *testing.T) {
	t.Parallel()
	servers := testetcd.Start(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first := open(t, "count/", servers...)
	eventually(t, "first step", func(ctx context.Context) bool {
		out, err := first.Commit(ctx, cluster.Step{If: []cluster.Condition{{Key: "n"}}, Then: []cluster.Write{{Key: "n", Value: []byte("0")}}})
		return err == nil && (out.Taken || len(out.Found) == 1 && out.Found[0].Revision != 0)
	})
	var mu sync.Mutex
	sure, doubt := 0, 0
	stop := make(chan struct{})
	var g sync.WaitGroup
	for i := range 4 {
		e := open(t, "count/", append(servers[i%3:3:3], servers[:i%3]...)...)
		g.Go(func() {
			for ctx.Err() == nil {
				select {
				case <-stop:
					return
				default:
				}
				v, err := e.Read(ctx, "n")
				if err != nil {
					continue
				}
				n, _ := strconv.Atoi(string(v.Keys[0].Value))
				out, err := e.Commit(ctx, cluster.Step{
					If: []cluster.Condition{{Key: "n", Revision: v.Keys[0].Revision}}, Then: []cluster.Write{{Key: "n", Value: []byte(strconv.Itoa(n + 1))}},
				})
				mu.Lock()
				switch {
				case err == nil && out.Taken:
					sure++
				case err != nil && !errors.Is(err, cluster.ErrRefused):
					doubt++
				}
				mu.Unlock()
			}
		})
	}
	counted := func(more int) {
		t.Helper()
		mu.Lock()
		want := sure + more
		mu.Unlock()
		eventually(t, "counting goes on", func(context.Context) bool {
			mu.Lock()
			defer mu.Unlock()
			return sure >= want
		})
	}
	counted(30)
	leader(t, first, servers).Kill()
	counted(30)
	close(stop)
	g.Wait()
	var n int
	eventually(t, "reading", func(ctx context.Context) bool {
		v, err := first.Read(ctx, "n")
		if err == nil {
			n, err = strconv.Atoi(string(v.Keys[0].Value))
		}
		return err == nil
	})
	t.Logf("%d answered as taken, %d in doubt, counted %d", sure, doubt, n)
	if n < sure || n > sure+doubt {
		t.Errorf("counted %d, of which %d were answered as taken, and %d are in doubt", n, sure, doubt)
	}
}

// leader is the member that leads.
func leader(t *testing.T, e *Engine, servers []*testetcd.Server) (found *testetcd.Server) {
	t.Helper()
	eventually(t, "a leader", func(ctx context.Context) bool {
		for i, h := range e.health(ctx) {
			if h.err == nil && h.status.Leader == h.status.Header.MemberId {
				found = servers[i]
			}
		}
		return found != nil
	})
	return found
}

// TestLogOnEtcd: an owner and a standby as they run, on a real engine, with its leader killed
// under them: what was acknowledged is in both copies, once, in order.
func TestLogOnEtcd(t *testing.T) {
	t.Parallel()
	servers := testetcd.Start(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e := open(t, "", servers...)
	var meta cluster.Meta
	eventually(t, "founded", func(ctx context.Context) bool {
		var err error
		meta, err = cluster.Found(ctx, e, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: "s1"}, Partitions: 1})
		return err == nil
	})
	at, err := meta.Genesis(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var l ledger
	a := clustertest.NewDisk("s1", at)
	b := a.Copied("s2")
	stopA := live(ctx, t, "n1", "s1", &clustertest.Copy{Disk: a, Write: l.writer("n1")}, servers)
	stopB := live(ctx, t, "n2", "s2", &clustertest.Copy{Disk: b, Write: l.writer("n2")}, servers)
	eventually(t, "in the set", func(ctx context.Context) bool {
		v, err := e.Read(ctx, "set/p00")
		return err == nil && strings.Contains(string(v.Keys[0].Value), `"s2"`)
	})
	l.more(t, "", 20)
	leader(t, e, servers).Kill()
	l.more(t, "", 20)
	stopA()
	l.more(t, "n2", 5)
	stopB()
	// A step that was on its way when n2 stopped is in the log and not in its copy: both read to the end.
	stopA = live(ctx, t, "n1", "s1", &clustertest.Copy{Disk: a}, servers)
	stopB = live(ctx, t, "n2", "s2", &clustertest.Copy{Disk: b}, servers)
	eventually(t, "at the log's end", func(ctx context.Context) bool {
		v, err := e.Read(ctx, "head/p00")
		return err == nil && atEnd(a, v) && atEnd(b, v)
	})
	stopA()
	stopB()
	if diff := clustertest.Equal(a, b); diff != "" {
		t.Error(diff)
	}
	l.check(t, a.Steps())
}

// atEnd reports whether a copy stands where the log ends, as the engine's view of its head says.
func atEnd(d *clustertest.Disk, head cluster.View) bool {
	return strings.Contains(string(head.Keys[0].Value), d.At().Hash.String())
}

// ledger is what was acknowledged.
type ledger struct {
	mu    sync.Mutex
	begun bool
	acked []string
}

// writer appends steps of 0 to 20 KB once more is called.
func (l *ledger) writer(name string) func(context.Context, *cluster.Lead, func([]byte) error) error {
	return func(ctx context.Context, lead *cluster.Lead, add func([]byte) error) error {
		for i := 0; ; i++ {
			if err := (cluster.SystemClock{}).Sleep(ctx, 20*time.Millisecond); err != nil {
				return err
			}
			l.mu.Lock()
			begun := l.begun
			l.mu.Unlock()
			if !begun {
				continue
			}
			step := fmt.Sprintf("%s %d %d %s", name, lead.Epoch(), i, strings.Repeat("x", i%20*1000))
			if err := add([]byte(step)); err != nil {
				return err
			}
			l.mu.Lock()
			l.acked = append(l.acked, step)
			l.mu.Unlock()
		}
	}
}

// more waits until n more steps of a node were acknowledged; "": of any.
func (l *ledger) more(t *testing.T, name string, n int) {
	t.Helper()
	l.mu.Lock()
	l.begun = true
	before := len(l.acked)
	l.mu.Unlock()
	eventually(t, "more steps of "+name, func(context.Context) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		found := 0
		for _, step := range l.acked[before:] {
			if strings.HasPrefix(step, name) {
				found++
			}
		}
		return found >= n
	})
}

func (l *ledger) check(t *testing.T, steps []clustertest.Step) {
	t.Helper()
	place := map[string]int{}
	for i, s := range steps {
		if _, twice := place[string(s.Bytes)]; twice {
			t.Errorf("%.20q stands twice in the log", s.Bytes)
		}
		place[string(s.Bytes)] = i
	}
	last := -1
	for _, a := range l.acked {
		at, there := place[a]
		if !there || at <= last {
			t.Errorf("%.20q was acknowledged: at %d, behind %d", a, at, last)
		}
		last = at
	}
}

// live runs a node until stop.
func live(ctx context.Context, t *testing.T, name, store string, c cluster.Copy, servers []*testetcd.Server) (stop func()) {
	t.Helper()
	e := open(t, "", servers...)
	var node *cluster.Node
	eventually(t, name+" joined", func(ctx context.Context) bool {
		var err error
		node, err = cluster.Join(ctx, e, cluster.NodeSettings{Name: name, Clock: cluster.SystemClock{}, Times: cluster.DefaultTimes(), Log: slog.New(slog.DiscardHandler)})
		return err == nil
	})
	member, err := node.Member(cluster.MemberSettings{Store: store, Copy: c})
	if err != nil {
		t.Fatal(err)
	}
	nodes, stopNode := context.WithCancel(ctx)
	members, stopMember := context.WithCancel(ctx)
	var g, m sync.WaitGroup
	g.Go(func() {
		if err := node.Run(nodes); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	m.Go(func() {
		if err := member.Run(members); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return func() {
		stopMember()
		m.Wait()
		stopNode()
		g.Wait()
	}
}

// TestNobodyThere: calls end in time and say what is in doubt.
func TestNobodyThere(t *testing.T) {
	e, err := Open(Settings{Endpoints: []string{"http://127.0.0.1:1"}, Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := t.Context()
	if _, err := e.Commit(ctx, cluster.Step{Then: []cluster.Write{{Key: "x"}}}); !errors.Is(err, cluster.ErrInDoubt) || errors.Is(err, cluster.ErrRefused) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := e.Read(ctx, "x"); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("Read: %v", err)
	}
	if _, err := e.Usage(ctx); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("Usage: %v", err)
	}
	if err := e.Check(ctx); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("Check: %v", err)
	}
}

// TestOfCommit: only what etcd answers before or in place of applying a step is decided.
func TestOfCommit(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{
		{rpctypes.ErrGRPCRequestTooManyRequests, cluster.ErrBusy},
		{rpctypes.ErrGRPCNoSpace, cluster.ErrFull},
		{rpctypes.ErrGRPCRequestTooLarge, cluster.ErrTooLarge},
		{status.Error(codes.ResourceExhausted, "trying to send message larger than max (3 vs. 2)"), cluster.ErrTooLarge},
		{rpctypes.ErrGRPCTooManyOps, cluster.ErrRefused},
		{rpctypes.ErrGRPCPermissionDenied, cluster.ErrRefused},
		{rpctypes.ErrGRPCTimeout, cluster.ErrInDoubt},
		{rpctypes.ErrGRPCTimeoutDueToLeaderFail, cluster.ErrInDoubt},
		{rpctypes.ErrGRPCLeaderChanged, cluster.ErrInDoubt},
		{rpctypes.ErrGRPCNoLeader, cluster.ErrInDoubt},
		{rpctypes.ErrGRPCStopped, cluster.ErrInDoubt},
		{rpctypes.ErrGRPCCorrupt, cluster.ErrInDoubt},
		{status.Error(codes.Unavailable, "transport is closing"), cluster.ErrInDoubt},
		{status.Error(codes.ResourceExhausted, "something new"), cluster.ErrInDoubt},
		{context.DeadlineExceeded, cluster.ErrInDoubt},
		{context.Canceled, cluster.ErrInDoubt},
		{errors.New("unknown"), cluster.ErrInDoubt},
	} {
		err := ofCommit(c.err)
		if !errors.Is(err, c.want) || errors.Is(err, cluster.ErrInDoubt) == errors.Is(err, cluster.ErrRefused) {
			t.Errorf("%v: %v, want %v", c.err, err, c.want)
		}
	}
}

func TestRefusedVersions(t *testing.T) {
	for version, refused := range map[string]bool{
		"3.3.27": true, "3.4.0": true, "3.4.21": true, "3.4.22": false, "3.4.23": false, "3.4.37": false,
		"3.5.0": true, "3.5.2": true, "3.5.5": true, "3.5.17": true, "3.5.18": false, "3.5.30": false,
		"3.6.0": false, "3.7.3": false, "3.8.0-alpha.0": true, "3.10.1": false, "4.0.0": true, "2.3.8": true, "": true, "3.6": true,
	} {
		if why := refusedVersion(version); (why != "") != refused {
			t.Errorf("%s: %q", version, why)
		}
	}
}

// TestServerIsPinned: sextant-etcd is the server of the client that is linked, and no part of this module.
func TestServerIsPinned(t *testing.T) {
	versionOf := func(file, module string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(module) + ` (v\S+)`).FindStringSubmatch(string(text))
		if found == nil {
			return ""
		}
		return found[1]
	}
	client, server := versionOf("../../go.mod", "go.etcd.io/etcd/client/v3"), versionOf("../../sextant-etcd/go.mod", "go.etcd.io/etcd/server/v3")
	if client == "" || client != server {
		t.Errorf("the client is %s, sextant-etcd %s", client, server)
	}
	if server := versionOf("../../go.mod", "go.etcd.io/etcd/server/v3"); server != "" {
		t.Errorf("the main module has etcd's server %s", server)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for _, s := range []Settings{{}, {Endpoints: []string{"http://127.0.0.1:1"}, Prefix: "none"}} {
		if e, err := Open(s); err == nil {
			t.Errorf("%+v: no error", s)
			_ = e.Close()
		}
	}
}
