package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/letters"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/whole"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// RunNode has a goroutine that answers other nodes, one for the common configuration, one that tells systemd and takes SIGHUP while another node
// leads, and those of cluster/node, on one of which the Service runs while this one does. clusterNode.mu guards what
// leads here and what is known of the others; it is held over no call of anybody.

// NodeOptions are what a node of a cluster is opened with beside the Options of a service.
type NodeOptions struct {
	Name      string
	Engine    cluster.Engine
	Token     peer.Token
	Listen    string // for the other nodes
	Advertise string // how they reach it; "": the machine's name and the port of Listen

	times cluster.Times // zero: the default ones; tests have others
}

// clusterNode is a process that is one of several.
type clusterNode struct {
	Options
	of    NodeOptions
	start Start
	door
	common   *common
	home     Home
	answered func()             // ends the answers of a standby; of the goroutine that leads
	end      context.CancelFunc // of the node, when nothing leads here

	mu       sync.Mutex
	members  map[cluster.Partition]*cluster.Member
	active   map[cluster.Partition]*node.Active
	parts    *parts // nil: the cluster has one partition, or this node does not take part yet
	service  *Service
	leads    bool
	stopping bool
	released bool // this lead was asked to hand over
	beginning
	toEnd   toEnd
	hangups chan struct{}
	known   knownNodes
}

// knownNodes are what is known of all nodes.
type knownNodes struct {
	others map[string]string // where other nodes are reached, also those that are gone, by name
	seen   *cluster.State    // at the last look, which began at looked
	looked time.Time
}

// RunNode is Run for a node of a cluster: it follows the crawl of another node, and crawls as a
// service does while it leads. It returns when start.Stop ends, which is no error, or for what a person must mend; if start.Once asks for that,
// when nothing is left to do at any node, with what all of them did.
func RunNode(ctx context.Context, o Options, n NodeOptions, start Start) (summary Summary, err error) {
	o.notify = newNotifier(os.Getenv, o.Log)
	o.notify.starting()
	if len(o.Crawlers) != 1 {
		return summary, errors.New("a node of a cluster runs one Crawler: name it with --crawler, and give each its own engine prefix")
	}
	c := &clusterNode{Options: o, of: n, start: start, home: HomeOf(o.File, o.Crawlers[0], o.Data), beginning: beginning{waits: "it starts"},
		members: map[cluster.Partition]*cluster.Member{}, active: map[cluster.Partition]*node.Active{}}
	if c.of.times == (cluster.Times{}) {
		c.of.times = cluster.DefaultTimes()
	}
	warnOfFiles(&o.Crawlers[0], o.Log)
	if err := os.MkdirAll(o.Data, 0o750); err != nil {
		return summary, fmt.Errorf("data directory: %w", err)
	}
	if err := checkHomes(o.Data, o.File.Crawlers); err != nil {
		return summary, err
	}
	doors := &Service{log: o.Log}
	opened, err := doors.openDoor(ctx, o.Data, o.Listen, o.Access)
	defer func() { err = errors.Join(err, doors.Close()) }()
	if err != nil {
		return summary, err
	}
	opened()
	c.door = doors.door
	c.common = newCommon(&c.Options, &c.of, c.home) // behind the socket's lock
	if o.Memory != NoMemoryLimit && os.Getenv("GOMEMLIMIT") == "" {
		badgerstore.LimitMemory(o.Memory, 0)
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return summary, err
	}
	c.answered = c.standBy()
	defer func() { c.answered() }()
	err = c.run(ctx, listener)
	return c.toEnd.summary, errors.Join(c.toEnd.failed, err)
}

// listen listens for other nodes, and finds out how they reach this one.
func (c *clusterNode) listen(ctx context.Context) (net.Listener, error) {
	l, err := ListenTCP(ctx, c.of.Listen)
	if err != nil {
		return nil, fmt.Errorf("for other nodes: %w", err)
	}
	if c.of.Advertise == "" {
		if c.of.Advertise, err = advertised(l.Addr()); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// warnOfFiles tells of a target whose documents stay on the machine that crawls.
func warnOfFiles(c *config.Crawler, log *slog.Logger) {
	for _, p := range c.Push {
		if p.Kind == "file" {
			log.Warn("the documents of this Push are on the disk of the node that crawls at the time: name a folder that all nodes share", "push", p.Name)
		}
	}
}

// run starts what runs as long as the process does, and waits for it.
func (c *clusterNode) run(ctx context.Context, l net.Listener) error {
	ctx, c.end = context.WithCancel(ctx)
	defer c.end()
	defer context.AfterFunc(c.start.Stop, c.stop)()
	secured, err := peer.ServerConfig()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	alarms, err := c.alarms()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{
		TLSConfig: secured, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	l = admin.Limit(server, l, func(h http.Handler) http.Handler { return peer.Guard(c.of.Token, h) }, c.peers())
	beside, ended := context.WithCancel(context.WithoutCancel(ctx))
	group, beside := errgroup.WithContext(beside)
	group.Go(func() error {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			c.end()
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-beside.Done()
		return server.Close()
	})
	group.Go(func() error { return c.tell(beside) })
	group.Go(func() error { return alarms.Run(beside) })
	group.Go(func() error { c.hurry(beside); return nil })
	c.Log.Info("a node of a cluster starts", "node", c.of.Name, "version", c.Version, "data", c.Data, "listen", c.Address(), "nodes", c.of.Advertise)
	err = c.work(ctx)
	c.notify.end()()
	ended()
	if failed := group.Wait(); failed != nil && err == nil {
		err = failed
	}
	if (c.start.Stop.Err() != nil || c.ends()) && errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// ends reports whether the node is to stop.
func (c *clusterNode) ends() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}

// work waits for the engine, and for all that the node does then.
func (c *clusterNode) work(ctx context.Context) error {
	if err := c.awaitEngine(ctx); err != nil {
		return err
	}
	c.lookForNodes(ctx)
	c.mu.Lock()
	c.started = true
	c.mu.Unlock()
	if _, err := c.common.current(ctx, false); err != nil && c.common.Unfit() == "" {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.common.Run(ctx) })
	group.Go(func() error { return c.awaitEnd(ctx) })
	group.Go(func() error {
		defer c.end()
		return c.takePart(ctx)
	})
	return group.Wait()
}

// takePart lets the copies of this node follow and lead. Of the only partition of a cluster it gets one first, if there is none.
func (c *clusterNode) takePart(ctx context.Context) error {
	meta, err := c.cluster(ctx)
	if err != nil {
		return err
	}
	if meta.Partitions > 1 {
		return c.takeParts(ctx, meta.Partitions)
	}
	return c.follow(ctx, c.haveCopy, c.lead)
}

// cluster is what the engine has, which has answered a moment ago.
func (c *clusterNode) cluster(ctx context.Context) (meta cluster.Meta, err error) {
	for {
		meta, err = cluster.MetaOf(ctx, c.of.Engine)
		if !errors.Is(err, cluster.ErrUnavailable) {
			return meta, err
		}
		if err := (cluster.SystemClock{}).Sleep(ctx, nodeRetry); err != nil {
			return meta, err
		}
	}
}

// follow runs the node until ctx ends, which is no error. ready is called before each try.
func (c *clusterNode) follow(ctx context.Context, ready func(context.Context) error, lead func(context.Context, *node.Active) error) error {
	for {
		if err := ready(ctx); err != nil {
			return err
		}
		c.wait("")
		o, others := c.storeOptions()
		err := node.Run(ctx, node.Settings{
			Name: c.of.Name, Engine: c.of.Engine, Dir: c.home.Store(), Store: o, Others: others, Log: c.Log,
			Clock: cluster.SystemClock{}, Times: c.of.times, Addresses: c.addresses(), Lead: lead, Watch: c.watched,
			Unfit: c.common.Unfit,
		})
		c.mu.Lock()
		clear(c.members)
		c.mu.Unlock()
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, cluster.ErrUnavailable): // it answered a moment ago
			c.wait("the engine does not answer: " + err.Error())
			if err := (cluster.SystemClock{}).Sleep(ctx, nodeRetry); err != nil {
				return err
			}
			continue
		}
		if err := c.copyAnew(ctx, err); err != nil {
			return err
		}
	}
}

func (c *clusterNode) addresses() cluster.Addresses {
	a := cluster.Addresses{Peer: c.of.Advertise}
	a.Machine, _ = os.Hostname() // for people
	if c.open != nil {
		a.Console = c.ConsoleURL()
	}
	return a
}

func (c *clusterNode) storeOptions() (badgerstore.Options, *node.Elsewhere) {
	o := StoreOptions(c.common.known(c.Crawlers[0]), c.Log)
	c.mu.Lock()
	if o.Stores = 1; c.parts != nil {
		o.Stores = c.parts.number
	}
	c.mu.Unlock()
	o.MemtableBytes = memtableOf(c.Memory, o.Stores)
	others := &node.Elsewhere{Client: &peer.Client{Token: c.of.Token}, Addresses: c.otherNodes}
	o.Elsewhere = others
	return o, others
}

func (c *clusterNode) watched(m *cluster.Member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[m.Partition()] = m
}

// wait notes for what the node waits, "" for nothing, and logs it if it is news.
func (c *clusterNode) wait(why string) {
	c.mu.Lock()
	was := c.waits
	c.waits = why
	c.mu.Unlock()
	if why != was && why != "" {
		c.Log.Warn("this node waits", "reason", why)
	}
}

// peers is what other nodes may ask, and who has the cluster's token.
func (c *clusterNode) peers() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", node.WithBodies(c.home.Store(), node.Handler(c.leading, c.Log), c.Log))
	mux.Handle(letters.Path, letters.Handler(c.receiver, c.Log))
	mux.HandleFunc(whole.AskPath, c.answerNode)
	mux.HandleFunc("POST "+keepPath, c.answerKeep)
	mux.HandleFunc("POST "+node.ReleasePath, func(w http.ResponseWriter, r *http.Request) {
		err := c.release()
		switch {
		case errors.Is(err, node.ErrFollows):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			_, _ = io.WriteString(w, "handing over\n") // who asked looks at the engine
		}
	})
	return mux
}

// behind is where a store that cannot catch up is kept until there is a new copy.
func (c *clusterNode) behind() string { return filepath.Clean(c.home.Store()) + ".behind" }
