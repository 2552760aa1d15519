package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/review"
)

// SocketPath is where the service of a data directory listens.
func SocketPath(data string) string { return filepath.Join(data, "sextant.sock") }

// ErrNotKnown is the error for a URL that the service does not know.
var ErrNotKnown = errors.New("URL is not known")

// ErrRefused is the error for a command that makes no sense to the service.
var ErrRefused = errors.New("the service refused the command")

// ErrDeclined is the error for a command that cannot be carried out, with the reason.
var ErrDeclined = errors.New("not done")

// Client talks to a running service over its Unix socket.
type Client struct {
	http    http.Client
	crawler string
}

// dialTimeout is how long a service may take to respond. It is long because a busy machine is slow,
// and costs nothing without a service: the socket of a dead one refuses at once.
const dialTimeout = 15 * time.Second

// Dial finds the service of a data directory. It returns nil without an error if none runs. The
// error says why a running one cannot be asked: it refuses this user, or it does not respond.
// Crawler is the name of the Crawler to ask about, "" if there is only one.
func Dial(ctx context.Context, data, crawler string) (*Client, error) {
	return dialWithin(ctx, data, crawler, dialTimeout)
}

func dialWithin(ctx context.Context, data, crawler string, limit time.Duration) (*Client, error) {
	path := SocketPath(data)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	c := &Client{http: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}, crawler: crawler}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := c.ask(within, http.MethodGet, "/healthz", nil, nil)
	if err == nil {
		return c, answer.Close()
	}
	if _, unreachable := errors.AsType[*url.Error](err); !unreachable {
		return c, nil // it answers that it is not well
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if within.Err() != nil || errors.Is(err, syscall.EAGAIN) { // or as many wait for its answer as can
		return nil, silent(data, limit)
	}
	return nil, refused(data)
}

// accept asks for JSON, and for lists whole.
const accept = jsonLines + ", application/json, */*;q=0.1"

// ask makes a request and returns the body of a 200; the caller closes it.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, body io.Reader) (io.ReadCloser, error) {
	if query == nil {
		query = url.Values{}
	}
	if c.crawler != "" {
		query.Set("crawler", c.crawler)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path+"?"+query.Encode(), body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the running service: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response.Body, nil
	}
	defer response.Body.Close()
	words, err := io.ReadAll(io.LimitReader(response.Body, maxProblemBytes))
	if err != nil {
		return nil, err
	}
	return nil, saidNo(words)
}

// saidNo makes an error from a response other than success.
func saidNo(body []byte) error {
	var p Problem
	var now Readiness
	switch err := json.Unmarshal(body, &p); {
	case err == nil && p.Detail != "":
	case err == nil && json.Unmarshal(body, &now) == nil && len(now.Problems) > 0:
		return errors.New(now.String())
	default:
		return errors.New(strings.TrimSpace(string(body))) // of another version
	}
	switch p.Code {
	case codeWrongUse:
		return fmt.Errorf("%w: %s", ErrRefused, p.Detail)
	case codeDeclined:
		return fmt.Errorf("%w: %s", ErrDeclined, p.Detail)
	case codeNotKnown:
		return ErrNotKnown
	default:
		return errors.New(p.Detail)
	}
}

func (c *Client) decode(ctx context.Context, method, path string, query url.Values, body io.Reader, into any) error {
	answer, err := c.ask(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	return json.NewDecoder(answer).Decode(into)
}

// Query makes a query of names and values. Empty values are left out.
func Query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// word writes a value of a query; the zero value is empty.
func word[T comparable](v T) string {
	if v == *new(T) {
		return ""
	}
	return fmt.Sprint(v)
}

// get asks for JSON.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (out T, err error) {
	err = c.decode(ctx, http.MethodGet, path, query, nil, &out)
	return out, err
}

// For returns the client of another Crawler.
func (c *Client) For(crawler string) *Client {
	other := *c
	other.crawler = crawler
	return &other
}

// Status returns the status of every Crawler, or of the client's own.
func (c *Client) Status(ctx context.Context) ([]Status, error) {
	all, err := get[[]Status](ctx, c, "/status", nil)
	if err != nil {
		return nil, err
	}
	var meant []Status
	for _, s := range all {
		if c.crawler == "" || s.Crawler == c.crawler {
			meant = append(meant, s)
		}
	}
	if len(meant) == 0 {
		return nil, fmt.Errorf("%w: it has no Crawler %q", ErrRefused, c.crawler)
	}
	return meant, nil
}

// Submit submits URLs, in several requests if they are many. After an error it returns
// the results so far.
func (c *Client) Submit(ctx context.Context, urls []string) (all []crawl.Submitted, err error) {
	body := func(batch []string) any { return urlList{batch} }
	err = postBatches(ctx, c, "/api/v1/add", nil, urls, body, func(out []crawl.Submitted) { all = append(all, out...) })
	return all, err
}

// urlList is the body of commands that are about URLs.
type urlList struct {
	URLs []string `json:"urls"`
}

// words are for the log.
func (l *urlList) words() string { return Selection{URLs: l.URLs}.String() }

// post sends a body as JSON.
func (c *Client) post(ctx context.Context, path string, body, into any) error {
	return c.postWith(ctx, path, nil, body, into)
}

// postWith is post with a query.
func (c *Client) postWith(ctx context.Context, path string, query url.Values, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.decode(ctx, http.MethodPost, path, query, bytes.NewReader(b), into)
}

// Bounds of one request's URLs, far below what the server takes.
const (
	batchURLs  = 2000
	batchBytes = 1 << 20
)

// batches cuts a list into parts that fit into a request; an empty list is one part.
func batches(urls []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		size, start := 0, 0
		for i, u := range urls {
			if i-start == batchURLs || i > start && size+len(u) > batchBytes {
				if !yield(urls[start:i]) {
					return
				}
				size, start = 0, i
			}
			size += len(u)
		}
		yield(urls[start:])
	}
}

// storedRobots returns the verdict of the stored robots.txt of a URL for agent, in the words of
// report.Robots. With original it is read as the text of 1994 says.
func (c *Client) storedRobots(ctx context.Context, agent string, original bool, u string) (string, error) {
	return get[string](ctx, c, "/api/v1/robots", url.Values{"url": {u}, "agent": {agent}, "original": {strconv.FormatBool(original)}})
}

// Reload has the service read its configuration again. It returns ErrDeclined with the errors of a
// configuration that cannot be used.
func (c *Client) Reload(ctx context.Context, o ReloadOptions) (out Reloaded, err error) {
	query := Query("yes", word(o.Yes), "now", word(o.Now))
	err = c.decode(ctx, http.MethodPost, "/api/v1/reload", query, nil, &out)
	return out, err
}

// Preview has the service judge its stored URLs by the configuration at path. It names up
// to samples URLs of each kind.
func (c *Client) Preview(ctx context.Context, path string, samples int) (*review.Preview, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	var out review.Preview
	err = c.post(ctx, "/api/v1/preview", PreviewRequest{Path: path, Samples: &samples}, &out)
	return &out, err
}

// Verify has the service prove its store's invariant.
func (c *Client) Verify(ctx context.Context) (Verification, error) {
	return get[Verification](ctx, c, "/api/v1/verify", nil)
}

// Ready asks the service whether it is ready; the error says why it is not.
func (c *Client) Ready(ctx context.Context) error {
	answer, err := c.ask(ctx, http.MethodGet, "/readyz", nil, nil)
	if err != nil {
		return err
	}
	return answer.Close()
}

// stream reads JSON Lines.
func stream[T any](ctx context.Context, c *Client, path string, query map[string][]string, fn func(T) error) error {
	answer, err := c.ask(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	lines := json.NewDecoder(bufio.NewReader(answer))
	for {
		var v T
		err := lines.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the list broke off: %w", err)
		}
		if err := fn(v); err != nil {
			return err
		}
	}
}
