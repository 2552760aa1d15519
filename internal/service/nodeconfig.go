package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/config"
)

// common is the configuration that all nodes of a cluster go by, at one of them: a version in the engine, which every node compiles
// before any of them goes by it (package shared). It comes over the network, so it may name only what the file of this machine names,
// see baseline.
//
// common.Run has a goroutine that takes part in changes, and one that looks at the file. common.proposing lets one change be made here at a time,
// common.taking is held while a version comes into force here, and common.looking while the file is looked at; they are taken in this order, before
// Service.reloading, and held over calls of the engine and the disk. common.mu guards what others ask for, for moments.
type common struct {
	*configuration // of this machine
	node           NodeOptions
	data           string
	home           Home
	crawler        string // its name
	kept           string // the file that remembers, see remembered
	log            *slog.Logger

	proposing sync.Mutex
	taking    sync.Mutex
	looking   sync.Mutex

	mu      sync.Mutex
	now     inForce
	service *Service // that leads here, nil if none does
	unfit   error    // why this node cannot go by what is in force
	unfitBy string   // the ID of that
	memory  remembered
	file    shared.Said // how the file stands
	copies  copies      // what that names on this machine
	others  string      // whose file differs, at the node that leads
	all     shared.Overview
}

// errSeal refuses what somebody wrote to the engine who has not the cluster's token.
var errSeal = errors.New("it does not bear the seal of this cluster's token, so it was not applied by one of its operators: see who can write to the engine, and put the right one in force with sextant cluster apply")

// inForce is a version that this node has compiled; Number 0: none yet.
type inForce struct {
	shared.Version
	text    []byte
	file    *config.File
	crawler config.Crawler
	owed    bool // the crawl that leads here does not go by it: what it needs could not be had
}

// copies are what the files that a version names hold on this machine, see shared.Said.Files.
type copies struct {
	of   string // the version's ID
	sums map[string]string
}

func newCommon(o *Options, n *NodeOptions, home Home) *common {
	c := &common{configuration: newConfiguration(o), node: *n, data: o.Data, home: home, crawler: o.Crawlers[0].Name, kept: keptPath(o.Data), log: o.Log}
	c.common = c
	c.memory = recall(c.kept, o.Log)
	return c
}

// Run takes part until ctx ends, which is no error.
func (c *common) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { c.lookAgain(ctx) })
	n := shared.Node{
		Name: c.node.Name, Engine: c.node.Engine, Clock: cluster.SystemClock{}, Times: c.node.times, Unfit: c.found, Forged: c.forged,
		Prepare: func(ctx context.Context, v shared.Version, text []byte) (func() error, error) {
			compiled, err := c.compile(ctx, v, text)
			return func() error { return c.take(ctx, compiled) }, err
		},
	}
	return n.Run(ctx)
}

// parse reads a text that came over the network.
func (c *common) parse(text []byte) (*config.File, config.Report, error) {
	allowed, err := c.baseline.allowed()
	if err != nil {
		return nil, config.Report{}, fmt.Errorf("what the file on this machine names cannot be read: %w", err)
	}
	lookups := c.own.Lookups()
	lookups.Allow = allowed
	file, report := config.Parse(c.path, text, lookups)
	return file, report, nil
}

// compile says whether this node can go by a version, and changes nothing.
func (c *common) compile(ctx context.Context, v shared.Version, text []byte) (inForce, error) {
	compiled := inForce{Version: v, text: text}
	if !c.sealed(&v) {
		return compiled, errSeal
	}
	file, report, err := c.parse(text)
	if err == nil && file == nil {
		err = report.ErrIn(c.path, fmt.Sprintf("version %d, %s", v.Number, config.FileName))
	}
	if err != nil {
		return compiled, err
	}
	compiled.file = file
	var names []string
	for _, one := range file.Crawlers {
		if names = append(names, one.Name); one.Name == c.crawler {
			compiled.crawler = one
		}
	}
	if compiled.crawler.Name == "" {
		return compiled, fmt.Errorf("it has no Crawler %q, which the file or --crawler of this node names, but %q: the name belongs to the store; give both the same one, and restart this node if its file was wrong", c.crawler, strings.Join(names, ", "))
	}
	if home := HomeOf(file, compiled.crawler, c.data); home.Dir != c.home.Dir {
		return compiled, fmt.Errorf("with %d Crawlers its store would be in %s, and this node's is in %s: keep one Crawler, or several, while a cluster runs", len(file.Crawlers), home.Store(), c.home.Store())
	}
	if err := fitsPartitions(ctx, c.node.Engine, &compiled.crawler); err != nil {
		return compiled, err
	}
	c.mu.Lock()
	s := c.service
	c.mu.Unlock()
	if s != nil {
		err = s.judge(ctx, compiled.crawler)
	}
	return compiled, err
}

// take puts a version in force here.
func (c *common) take(ctx context.Context, compiled inForce) error {
	c.taking.Lock()
	defer c.taking.Unlock()
	c.mu.Lock()
	same, owed, s := c.now.ID == compiled.ID, c.now.owed, c.service
	if compiled.Number < c.now.Number { // a later one came into force while this one was compiled
		c.mu.Unlock()
		return nil
	}
	c.now = compiled
	if !same {
		c.memory.Version, c.memory.Text = compiled.Version, compiled.text
	}
	memory := c.memory
	c.mu.Unlock()
	if same && !owed {
		return nil
	}
	if !same {
		if err := memory.keep(c.kept); err != nil {
			c.log.Warn("the configuration in force cannot be remembered in the data directory", "file", c.kept, "error", err)
		}
		c.log.Info("the cluster's configuration is in force at this node", "version", compiled.Number, "by", compiled.By)
	}
	c.lookAtFile()
	if s == nil {
		return nil
	}
	err := c.adopt(ctx, s, &compiled.Version)
	if err == nil || errors.Is(err, errEnding) || errors.Is(err, errAccess) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.owed = c.now.ID == compiled.ID && c.service == s
	return err
}

// found notes whether this node can go by the version in force. If not it hands over.
func (c *common) found(v shared.Version, err error) {
	c.mu.Lock()
	before, s := c.unfit, c.service
	if v.Number < c.now.Number {
		c.mu.Unlock()
		return
	}
	c.unfit, c.unfitBy = err, v.ID
	c.mu.Unlock()
	if err == nil {
		return
	}
	if before == nil || before.Error() != err.Error() {
		c.log.Error("this node cannot use the configuration that is in force in the cluster, and takes nothing over until it can", "version", v.Number, "by", v.By, "error", err)
	}
	if s != nil {
		s.handOver()
	}
}

// Unfit says why this node must not lead, "" if it may.
func (c *common) Unfit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unfit == nil {
		return ""
	}
	return "it cannot use the configuration in force: " + c.unfit.Error()
}

// current brings this node to the version in force, which it asks the engine for: what it had before may be old. The cluster's first version is
// the file of the node that leads first, if begin is set. What passes by itself is waited for; any other error means that this node must not lead.
func (c *common) current(ctx context.Context, begin bool) (inForce, error) {
	for {
		now, err := c.look(ctx, begin)
		if !errors.Is(err, cluster.ErrUnavailable) && !errors.Is(err, cluster.ErrInDoubt) && !errors.Is(err, cluster.ErrBusy) || ctx.Err() != nil {
			return now, err
		}
		if err := (cluster.SystemClock{}).Sleep(ctx, c.node.times.Retry); err != nil {
			return now, err
		}
	}
}

func (c *common) look(ctx context.Context, begin bool) (inForce, error) {
	v, text, err := shared.Active(ctx, c.node.Engine)
	again := false
	switch {
	case v.Number != 0 && !c.sealed(&v) && c.remembers():
		if !begin {
			return inForce{}, nil // who leads puts another one in its place
		}
		again, err = true, c.putBack(ctx, v)
	case err == nil && v.Number == 0 && begin:
		again, err = true, c.begin(ctx)
	}
	if again && err == nil {
		v, text, err = shared.Active(ctx, c.node.Engine)
	}
	if err != nil || v.Number == 0 {
		return inForce{}, err
	}
	// Also what is known already: what it names on this machine may have changed since, and with the file what it may name.
	return c.bring(ctx, v, text)
}

// bring has this node go by a version, or notes why it cannot.
func (c *common) bring(ctx context.Context, v shared.Version, text []byte) (inForce, error) {
	compiled, err := c.compile(ctx, v, text)
	if err == nil {
		err = c.take(ctx, compiled)
	}
	if ctx.Err() == nil {
		c.found(v, err)
	}
	return compiled, err
}

// again sees whether a node that follows can still use what is in force, which what is written on its machine may end, or bring back. Where the
// crawl is, a reload sees that. What another version is unfit for, package shared tries again.
func (c *common) again(ctx context.Context) {
	c.mu.Lock()
	now, about := c.now, c.service == nil && (c.unfit == nil || c.unfitBy == c.now.ID)
	c.mu.Unlock()
	if now.Number > 0 && about {
		_, _ = c.bring(ctx, now.Version, now.text) // found tells
	}
}

// begin makes the file of this node the first version of the cluster.
func (c *common) begin(ctx context.Context) error {
	text, err := c.read()
	if err != nil {
		return err
	}
	if file, report := config.Parse(c.path, text, c.own.Lookups()); file == nil {
		return fmt.Errorf("the cluster has no configuration yet, and the file of this node cannot become its first: %w", report.Err())
	}
	err = shared.Begin(ctx, c.node.Engine, cluster.SystemClock{}, shared.Version{}, shared.Proposal{Content: text, By: c.node.Name + ", its file", Seal: c.node.Token.Seal})
	if errors.Is(err, shared.ErrChanged) {
		return nil // another node was first
	}
	return err
}

// attach has later versions come into force in a service that leads, which was opened with one. It returns why that cannot be.
func (c *common) attach(ctx context.Context, s *Service, with string) error {
	c.taking.Lock()
	defer c.taking.Unlock()
	c.mu.Lock()
	c.service = s
	now := c.now.Version
	c.mu.Unlock()
	if now.ID != with { // it came into force while the service was opened
		return c.adopt(ctx, s, &now)
	}
	return nil
}

// adopt has a service that leads go by a version, with the operator's word if that was given for it. If the service ends first, the next one
// that leads has the word.
func (c *common) adopt(ctx context.Context, s *Service, v *shared.Version) error {
	if err := s.reload(ctx, v.Word); err != nil {
		return err
	}
	if _, err := spendWord(ctx, s.lent.store, v); err != nil {
		c.log.Debug("that the operator's word was given is not noted", "version", v.Number, "error", err)
	}
	return nil
}

func (c *common) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.service, c.others, c.now.owed = nil, "", false
}

// inForce is the version in force here as it was compiled, nil if there is none yet.
func (c *common) inForce() *config.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.file
}

// text is what is in force here.
func (c *common) text() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.text
}

// known is the Crawler as this node last knew it, or as its own file has it.
func (c *common) known(own config.Crawler) config.Crawler {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.Number > 0 {
		return c.now.crawler
	}
	return own
}
