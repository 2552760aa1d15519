// Package notices notifies an operator, by a webhook or a command, of conditions that need attention: once when they
// begin, and once more when they end.
//
// A Notifier owns the file of the notices that were sent, and a goroutine for each receiver while Run runs. Its locks
// are held briefly, never while a notice is sent.
package notices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/push/wire"
)

// Run has a goroutine for each receiver, and waits for all of them when receivers are replaced and at the end.
// Notifier.mu guards the list of postmen, and the error that ended the crawl.

// Event is a kind of condition, a word of the configuration and of notices; a contract.
type Event string

// The events.
const (
	Brake   Event = "brake"   // most documents of a host, or many by an edit of the rules, are to go
	Config  Event = "config"  // a changed configuration is refused
	Disk    Event = "disk"    // the disk is nearly full
	Host    Event = "host"    // a host is ill, silent or nearly gone
	Indexer Event = "indexer" // a push target is down
	Login   Event = "login"   // a log-in fails
	Round   Event = "round"   // a round has ended: no problem, and only for receivers that name it
	Stop    Event = "stop"    // the crawl ended with an error
)

// Events returns all events, in the order of their names.
func Events() []Event { return []Event{Brake, Config, Disk, Host, Indexer, Login, Round, Stop} }

// Condition is a problem while it lasts. Event, Crawler and Subject identify it.
type Condition struct {
	Event   Event     `json:"event"`
	Crawler string    `json:"crawler,omitempty"` // empty if it concerns the process
	Subject string    `json:"subject,omitempty"` // the target, host or log-in
	Since   time.Time `json:"since"`             // zero: since it was observed
	Words   string    `json:"words"`             // a sentence without its full stop
	// Help is what follows or what to do while it lasts, likewise; may be empty.
	Help string `json:"help,omitempty"`
}

func (c *Condition) key() string { return string(c.Event) + "\n" + c.Crawler + "\n" + c.Subject }

// Observation is the set of conditions at a moment.
type Observation struct {
	Conditions []Condition
	// Unsure are events and Crawlers that may be missing from Conditions.
	Unsure []Scope
}

// Scope is an event of a Crawler; an empty Event stands for all.
type Scope struct {
	Event   Event
	Crawler string
}

func (o *Observation) unsure(c *Condition) bool {
	return slices.ContainsFunc(o.Unsure, func(s Scope) bool {
		return s.Crawler == c.Crawler && (s.Event == "" || s.Event == c.Event)
	})
}

// Times of the notifier.
const (
	lookEvery = 5 * time.Second
	// settle is how long a condition must be absent before its end is reported.
	settle = 2 * time.Minute
	// again is the time between two notices, or attempts at one, about the same condition.
	again = 15 * time.Minute
	// perHour bounds one receiver's notices about conditions; omitted ones are sent later.
	perHour = 60
	// maxNews is how many notices of rounds wait for a receiver.
	maxNews = 20
	// maxWords bounds the words of a notice, in bytes.
	maxWords = 2000
	// lastWords is how long the end of the process waits for its notice.
	lastWords = 10 * time.Second
)

// Settings configures a Notifier.
type Settings struct {
	Receivers []Receiver
	// Observe returns the present conditions. Each receiver's goroutine calls it every few seconds.
	Observe func(context.Context) Observation
	// Path is the file that records sent notices over restarts; empty: none.
	Path string
	Log  *slog.Logger
}

// Notifier watches conditions, and notifies its receivers. A receiver that does not respond delays neither the others
// nor the crawl.
type Notifier struct {
	set     Settings
	memory  *memory
	host    string
	replace chan []Receiver // capacity 1

	mu    sync.Mutex
	ended *Condition
	at    []*postman
}

// New reads which notices were sent before; it sends none before Run.
func New(s Settings) (*Notifier, error) {
	m, err := openMemory(s.Path)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n := &Notifier{set: s, memory: m, host: host, replace: make(chan []Receiver, 1)}
	n.at, err = n.postmen(s.Receivers)
	return n, err
}

func (n *Notifier) postmen(receivers []Receiver) ([]*postman, error) {
	var all []*postman
	for _, r := range receivers {
		p, err := newPostman(n, r)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Run sends notices until ctx ends; then, if End was called, one about the end. It is called
// once.
func (n *Notifier) Run(ctx context.Context) error {
	for {
		round, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		n.mu.Lock()
		for _, p := range n.at {
			wg.Go(func() { p.run(round) })
		}
		n.mu.Unlock()
		var next []Receiver
		replaced := false
		select {
		case <-ctx.Done():
		case next = <-n.replace:
			replaced = true
		}
		cancel()
		wg.Wait()
		if !replaced {
			n.last(context.WithoutCancel(ctx))
			return nil
		}
		all, err := n.postmen(next)
		if err != nil {
			n.set.Log.Error("the notices of the new configuration cannot be sent: the old ones stay", "error", err)
			continue
		}
		n.mu.Lock()
		before := n.at
		for _, p := range all {
			p.inherit(before)
		}
		n.at = all
		n.mu.Unlock()
		for _, p := range before {
			p.close()
		}
	}
}

// Replace replaces the receivers. A receiver that stays is not notified again of what it knows, and keeps its counts
// and limits.
func (n *Notifier) Replace(receivers []Receiver) {
	for {
		select {
		case n.replace <- receivers:
			return
		case <-n.replace: // drops an earlier list that was not read yet
		}
	}
}

// End records that the crawl ended with an error, for the last notice. Nil, and the end of a context, do not count.
func (n *Notifier) End(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = &Condition{Event: Stop, Since: time.Now(), Words: "the crawl ended with an error: " + err.Error()}
}

// Tell sends a notice of a round of a Crawler to the receivers that name the event, from their goroutines. If many
// wait, the oldest are dropped.
func (n *Notifier) Tell(crawler, words string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.at {
		if !slices.Contains(p.receiver.On, Round) {
			continue
		}
		p.mu.Lock()
		p.news = append(p.news, n.notice(&Condition{Event: Round, Crawler: crawler, Since: time.Now(), Words: words}, Done, time.Time{}))
		p.news = p.news[max(0, len(p.news)-maxNews):]
		p.mu.Unlock()
	}
}

// last sends the notice about the end, after those that wait.
func (n *Notifier) last(ctx context.Context) {
	n.mu.Lock()
	ended, all := n.ended, n.at
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range all {
		wg.Go(func() {
			p.tellNews(ctx)
			if ended != nil && p.wants(ended) {
				p.begin(ctx, *ended)
			}
		})
	}
	wg.Wait()
	for _, p := range all {
		p.close()
	}
}

// Test sends a test notice to all receivers at once, without retries, and returns an error for each failure.
func (n *Notifier) Test(ctx context.Context) (told []string, err error) {
	n.mu.Lock()
	all := n.at
	n.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		test := n.notice(&Condition{Event: "test", Since: time.Now(), Words: "this is a test: nothing is wrong"}, Test, time.Time{})
		wg.Go(func() {
			if err := p.receiver.once(ctx, n.set.Log, test); err != nil {
				errs[i] = fmt.Errorf("%s: %w", p.name, err)
			}
		})
	}
	wg.Wait()
	for i, p := range all {
		if errs[i] == nil {
			told = append(told, p.name)
		}
	}
	return told, errors.Join(errs...)
}

// Status is the state of one receiver.
type Status struct {
	Receiver string `json:"receiver"` // without secrets
	// Told are the lasting conditions that were reported to it.
	Told   []Condition `json:"told,omitempty"`
	Sent   uint64      `json:"sent"`   // notices since the process started
	Failed uint64      `json:"failed"` // notices that were given up
	// LastError is why the last notice failed; empty if it did not.
	LastError string `json:"last_error,omitempty"`
}

// Status returns a snapshot of all receivers.
func (n *Notifier) Status() []Status {
	n.mu.Lock()
	all := n.at
	n.mu.Unlock()
	out := make([]Status, len(all))
	for i, p := range all {
		out[i] = p.status()
	}
	return out
}

// State is the kind of notice about an incident.
type State string

// The states.
const (
	Problem  State = "problem"
	Resolved State = "resolved"
	Done     State = "done"
	Test     State = "test"
)

// Notice is the body of a webhook request, and the standard input of a command; a contract, see docs/monitoring.md.
type Notice struct {
	Version int    `json:"version"` // 1
	ID      string `json:"id"`      // the same for both notices of an incident
	State   State  `json:"state"`
	Condition
	Until   *time.Time `json:"until,omitempty"`    // when it ended
	LastedS int64      `json:"lasted_s,omitempty"` // in seconds
	Machine string     `json:"machine"`
	// Text is everything in one line, as Slack and Teams show it.
	Text string `json:"text"`
}

// notice describes a condition; until is zero while it lasts.
func (n *Notifier) notice(c *Condition, state State, until time.Time) Notice {
	c.Since = c.Since.UTC().Truncate(time.Second)
	c.Words, c.Help = wire.Clip(wire.Plain(c.Words), maxWords), wire.Clip(wire.Plain(c.Help), maxWords)
	out := Notice{Version: 1, State: state, Condition: *c, Machine: n.host, ID: identify(c)}
	parts := []string{"Sextant on " + n.host}
	if c.Crawler != "" {
		parts = append(parts, c.Crawler)
	}
	words := c.Words
	if c.Help != "" {
		words += ": " + c.Help
	}
	if state == Resolved {
		out.Help = ""
		until = until.UTC().Truncate(time.Second)
		lasted := max(until.Sub(c.Since), 0)
		out.Until, out.LastedS = &until, int64(lasted.Seconds())
		words = fmt.Sprintf("over after %s; it was: %s", lasted, c.Words)
	}
	out.Text = strings.Join(append(parts, words), ": ")
	return out
}
