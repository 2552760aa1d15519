// Package render has pages that only their scripts fill made by a browser: headless
// Chromium, in processes of its own that have no network.
//
// A browser is asked over the DevTools protocol on a pipe, never on a port. Every request
// that a page makes is paused, made by the function that came with the page, and
// fulfilled; what is not paused meets a proxy and names that do not exist, and, where the
// kernel allows it, a network of its own that leads nowhere. The main answer is the
// caller's, too: the browser asks for nothing by itself.
//
// A Renderer owns its browsers, one for each page at once. Renderer.Run starts them when
// they are needed, ends them by age, by memory, and after each failure, and has ended all
// when it returns. Each browser has a goroutine that reads its pipe and one that writes to it; a
// page has one for each request on its way. Locks guard the state of one pipe, of one page, and the
// cached answers; none is held while anything is waited for.
package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Run has a goroutine for each browser, and waits for all of them.

// Settings of a Renderer. Those at zero have the documented defaults.
type Settings struct {
	// Command starts a browser: the program by its absolute path, and further arguments. One word that
	// begins with "unix:" is the path of a socket on which each connection is a browser of
	// its own. Empty: DefaultCommand.
	Command []string
	// Pages is how many pages are rendered at once, each in a browser of its own: 1.
	Pages int
	// MaxMemory of one browser's processes together, in bytes: 1 GiB. Behind a socket
	// it is the matter of who starts the browsers.
	MaxMemory int64
	// PostURLs are addresses to which pages may send POST requests, with any query, as these only read.
	PostURLs []string
	// Timeout for one page, without the wait for a browser: 20 s.
	Timeout time.Duration
}

// DefaultCommand is where Debian puts Chromium.
const DefaultCommand = "/usr/bin/chromium"

// socketPrefix begins a command that is a socket.
const socketPrefix = "unix:"

const (
	defaultTimeout   = 20 * time.Second
	defaultMaxMemory = 1 << 30
	// pagesPerBrowser are rendered by one, and for browserAge; the next begins with clean memory.
	pagesPerBrowser = 200
	browserAge      = time.Hour
	// idleTime is how long a browser is kept while no page comes.
	idleTime = 2 * time.Minute
)

func (s Settings) withDefaults() Settings {
	if len(s.Command) == 0 {
		s.Command = []string{DefaultCommand}
	}
	s.Pages = max(s.Pages, 1)
	s.Timeout, s.MaxMemory = cmp.Or(max(s.Timeout, 0), defaultTimeout), cmp.Or(max(s.MaxMemory, 0), defaultMaxMemory)
	return s
}

// Socket returns the path of the socket that a command stands for, "" for a program.
func Socket(command []string) string {
	if len(command) == 0 {
		return ""
	}
	path, ok := strings.CutPrefix(command[0], socketPrefix)
	if !ok {
		return ""
	}
	return path
}

// Page is one to be rendered: the answer that it came with, and how to go on.
type Page struct {
	URL    string
	Status int
	Header http.Header
	Body   []byte
	// Selector is what is waited for: an element that it selects. Empty: After.
	Selector string
	// After is waited for once the page is loaded. 0: until it makes no more requests.
	After time.Duration
	// Partition divides the answers that are kept: a page gets those alone that pages of its origin with the
	// same Partition have asked for. It tells apart who may read what, such as pages behind a log-in.
	Partition string
	// Fetch makes the requests of the page, several at once. Its context ends with the page. An error that wraps ErrRefused
	// says that nobody was asked.
	Fetch func(ctx context.Context, r Request) (Answer, error)
}

// ErrRefused is the error of a request that may not be made.
var ErrRefused = errors.New("the request may not be made")

// Request is one that a page makes.
type Request struct {
	URL    string
	Method string // GET, HEAD or, to one of PostURLs, POST or OPTIONS
	Kind   string // the resource type of the protocol: Script, Stylesheet, XHR, Fetch and so on
	Header http.Header
	Body   []byte

	partition string // of the page, with its origin
}

// Answer is that to a Request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Rendered is what became of a Page.
type Rendered struct {
	HTML []byte // in UTF-8, with shadow trees in their places
	// Cut says that HTML was longer than can be read.
	Cut bool
	// Location is where the page's scripts led, which was not followed; "" for nowhere.
	Location string
	Counts
	Took   time.Duration // without the wait for a browser
	Waited time.Duration // for a browser, its start included
}

// Counts tell of the requests of a page.
type Counts struct {
	Requests int  `json:"requests"` // were made
	Cached   int  `json:"cached"`   // were answered without one
	Refused  int  `json:"refused"`  // were not made: images and the like, other methods, what is beyond the limit
	Failed   int  `json:"failed"`   // got no answer, or an error
	TooMany  bool `json:"too_many"` // some were refused because there were too many
	Restless bool `json:"restless"` // it was still at work when its time was over
	// RefusedData are the first of the refused requests that may have been for the page's text, as METHOD URL.
	RefusedData []string `json:"refused_data,omitempty"`
}

// Kind says in what a rendering failed.
type Kind uint8

// The kinds.
const (
	Unavailable Kind = iota + 1 // there is no browser: that says nothing of the page
	Crashed                     // the browser ended, or took too much memory
	TimedOut                    // what is waited for did not come, or the page answers nothing
	Incomplete                  // a script of the page's own server could not be had
)

// Error is a page that was not rendered.
type Error struct {
	Kind  Kind
	Words string
}

func (e *Error) Error() string { return e.Words }

func failed(k Kind, format string, args ...any) *Error {
	return &Error{k, fmt.Sprintf(format, args...)}
}

// Renderer renders pages while Run runs. Its methods may be called at once.
type Renderer struct {
	log   *slog.Logger
	pages int
	cache *cache
	jobs  chan job
	ended chan struct{} // closed when Run has returned

	mu       sync.Mutex // guards settings and status
	settings Settings
	status   Status
}

// job is a page for whichever browser comes first.
type job struct {
	ctx   context.Context //nolint:containedctx // the caller's, who waits
	page  Page
	reply chan<- result
}

type result struct {
	rendered Rendered
	err      error
}

// New returns a Renderer; it starts nothing.
func New(s Settings, log *slog.Logger) *Renderer {
	s = s.withDefaults()
	return &Renderer{log: log, pages: s.Pages, cache: newCache(time.Now), jobs: make(chan job), ended: make(chan struct{}), settings: s}
}

// Set changes the settings for browsers that are started from now on; their number stays.
func (r *Renderer) Set(s Settings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settings = s.withDefaults()
}

func (r *Renderer) now() Settings {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settings
}

// Run renders pages until ctx ends. It is called once.
func (r *Renderer) Run(ctx context.Context) error {
	defer close(r.ended)
	var all sync.WaitGroup
	for range r.pages {
		all.Go(func() { r.serve(ctx) })
	}
	all.Wait()
	return nil
}

// ErrEnded is the error of pages for which there will be no browser: Run ends.
var ErrEnded = &Error{Unavailable, "the service is stopping"}

// Render has a page rendered. The error is an *Error, or that of ctx.
func (r *Renderer) Render(ctx context.Context, p Page) (Rendered, error) {
	reply, began := make(chan result, 1), time.Now()
	r.note(func(s *Status) { s.Waiting++ })
	select {
	case r.jobs <- job{ctx, p, reply}:
		r.note(func(s *Status) { s.Waiting, s.Rendering = s.Waiting-1, s.Rendering+1 })
	case <-r.ended:
		r.note(func(s *Status) { s.Waiting-- })
		return Rendered{}, ErrEnded
	case <-ctx.Done():
		r.note(func(s *Status) { s.Waiting-- })
		return Rendered{}, ctx.Err()
	}
	out := <-reply
	out.rendered.Waited = time.Since(began) - out.rendered.Took
	r.note(func(s *Status) { s.Rendering-- })
	if ctx.Err() != nil {
		return Rendered{}, ctx.Err()
	}
	return out.rendered, out.err
}

// serve renders one page after the other, in a browser that it starts and ends.
func (r *Renderer) serve(ctx context.Context) {
	var b *browser
	end := func() {
		if b != nil {
			b.end()
			b = nil
			r.note(func(s *Status) { s.Running-- })
		}
	}
	defer end()
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			end()
			continue
		case j := <-r.jobs:
			out := result{}
			if b != nil && b.isOld() {
				end()
			}
			s := r.now()
			if b == nil {
				b, out.err = start(ctx, s, r.log)
				r.started(ctx, b, out.err)
			}
			if b != nil {
				out.rendered, out.err = r.render(ctx, b, s, j)
				if b.lost() {
					end()
				}
			}
			j.reply <- out
		}
		idle.Reset(idleTime)
	}
}

// render renders the page of a job, until either context ends.
func (r *Renderer) render(ctx context.Context, b *browser, s Settings, j job) (Rendered, error) {
	own, cancel := context.WithCancel(j.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	b.pages++
	t := newTab(b, r.cache, j.page)
	t.posts = s.PostURLs
	out, err := t.render(own, s.Timeout)
	if ctx.Err() != nil {
		return Rendered{}, ErrEnded
	}
	return out, err
}
