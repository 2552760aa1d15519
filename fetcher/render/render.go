// Package render renders pages that are filled only by their scripts, with a browser: headless Chromium, in separate
// processes without a network.
//
// A browser is controlled over the DevTools protocol on a pipe, never on a port. Every request of a page is paused,
// made by the function that came with the page, and fulfilled. Requests that escape the pause reach a proxy and names
// that do not exist, and, if the kernel allows it, a separate network without any connection. The main response also
// comes from the caller: the browser itself makes no requests.
//
// A Renderer owns its browsers, one for each page at a time. Renderer.Run starts them on demand, ends them by age, by
// memory, and after each failure, and has ended all when it returns. Each browser has a goroutine that reads its pipe
// and one that writes to it; a page has one for each request in flight. Locks guard the state of one pipe, of one page,
// and the cached responses; none is held during a wait.
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

// Settings configures a Renderer. Zero fields have the documented defaults.
type Settings struct {
	// Command starts a browser: the absolute path of the program, and further arguments. A single word that begins with
	// "unix:" is the path of a socket on which each connection is a separate browser. Empty means DefaultCommand.
	Command []string
	// Pages is the number of pages that are rendered at once, each in its own browser: 1.
	Pages int
	// MaxMemory bounds the memory of one browser's processes together, in bytes: 1 GiB. Behind a socket the service
	// that starts the browsers must bound it.
	MaxMemory int64
	// PostURLs are addresses to which pages may send POST requests, with any query, as these only read.
	PostURLs []string
	// Timeout is the limit for one page, without the wait for a browser: 20 s.
	Timeout time.Duration
}

// DefaultCommand is the path of Debian's Chromium.
const DefaultCommand = "/usr/bin/chromium"

// socketPrefix marks a command that is a socket.
const socketPrefix = "unix:"

const (
	defaultTimeout   = 20 * time.Second
	defaultMaxMemory = 1 << 30
	// pagesPerBrowser and browserAge bound the use of one browser; the next one begins with clean memory.
	pagesPerBrowser = 200
	browserAge      = time.Hour
	// idleTime is the time for which an idle browser is kept.
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

// Page is a page to render: its response, and how to proceed.
type Page struct {
	URL    string
	Status int
	Header http.Header
	Body   []byte
	// Selector selects an element to wait for. Empty: After.
	Selector string
	// After is the time to wait once the page is loaded; 0 means until it makes no more requests.
	After time.Duration
	// Partition divides the cached responses: a page gets only those that pages of its origin with the same Partition
	// requested. It separates access rights, such as those of pages behind a log-in.
	Partition string
	// Fetch makes the requests of the page, several at once. Its context ends with the page. An error that wraps
	// ErrRefused means that no request was made.
	Fetch func(ctx context.Context, r Request) (Answer, error)
}

// ErrRefused is the error of a request that must not be made.
var ErrRefused = errors.New("the request is not allowed")

// Request is a request of a page.
type Request struct {
	URL    string
	Method string // GET, HEAD or, to one of PostURLs, POST or OPTIONS
	Kind   string // the resource type of the protocol: Script, Stylesheet, XHR, Fetch and so on
	Header http.Header
	Body   []byte

	partition string // of the page, including its origin
}

// Answer is the response to a Request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Rendered is the result of rendering a Page.
type Rendered struct {
	HTML []byte // in UTF-8, with shadow trees in their places
	// Cut is set if HTML was longer than can be read.
	Cut bool
	// Location is the URL to which the page's scripts navigated, without following it; "" for none.
	Location string
	Counts
	Took   time.Duration // without the wait for a browser
	Waited time.Duration // for a browser, its start included
}

// Counts holds the number of requests of a page.
type Counts struct {
	Requests int  `json:"requests"` // made
	Cached   int  `json:"cached"`   // served from the cache
	Refused  int  `json:"refused"`  // not made: images and similar, other methods, those beyond the limit
	Failed   int  `json:"failed"`   // no response, or an error
	TooMany  bool `json:"too_many"` // some were refused because there were too many
	Restless bool `json:"restless"` // it was still active when its time was over
	// RefusedData lists the first refused requests on which the page's text may depend, as METHOD URL.
	RefusedData []string `json:"refused_data,omitempty"`
}

// Kind is the kind of failure of a rendering.
type Kind uint8

// The kinds.
const (
	Unavailable Kind = iota + 1 // there is no browser; the page is not at fault
	Crashed                     // the browser ended, or took too much memory
	TimedOut                    // the awaited state did not come, or the page does not respond
	Incomplete                  // a script from the page's own server could not be fetched
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

// Renderer renders pages while Run runs. Its methods may be called concurrently.
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

// job is a page for the next free browser.
type job struct {
	ctx   context.Context //nolint:containedctx // the caller's, who waits
	page  Page
	reply chan<- result
}

type result struct {
	rendered Rendered
	err      error
}

// New returns a Renderer, without starting anything.
func New(s Settings, log *slog.Logger) *Renderer {
	s = s.withDefaults()
	return &Renderer{log: log, pages: s.Pages, cache: newCache(time.Now), jobs: make(chan job), ended: make(chan struct{}), settings: s}
}

// Set changes the settings for browsers that are started from now on; their number does not change.
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

// ErrEnded is the error of pages that will get no browser because Run is ending.
var ErrEnded = &Error{Unavailable, "the service is stopping"}

// Render renders a page. The error is an *Error, or that of ctx.
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
