package admin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// SocketPath returns the socket of the service of a data directory.
func SocketPath(data string) string { return filepath.Join(data, "sextant.sock") }

// ErrNotKnown is the error for a URL that the service does not know.
var ErrNotKnown = errors.New("URL is not known")

// ErrRefused is the error for a command that is invalid for the service.
var ErrRefused = errors.New("the service refused the command")

// ErrDeclined is the error for a command that cannot be carried out, with the reason.
var ErrDeclined = errors.New("not done")

// ErrStandingBy is the error for a service that waits for another node's place.
var ErrStandingBy = errors.New("this node stands by")

// Client talks to a running service over its Unix socket.
type Client struct {
	http    http.Client
	crawler string
	reader  bool // the service grants a reader's rights alone
}

// dialTimeout is the time that a service has to respond. It is long because a busy machine is slow. Without a service
// it costs nothing, because the socket of a dead service refuses at once.
const dialTimeout = 15 * time.Second

// Dial connects to the service of a data directory. It returns nil without an error if none runs. The error is the
// reason why a running service cannot be used: it refuses this user, or it does not respond. crawler is the name of the
// Crawler to use, "" if there is only one.
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
	answer, err := c.Ask(within, http.MethodGet, "/healthz", nil, nil, nil)
	if err == nil {
		return c, answer.Body.Close()
	}
	if _, unreachable := errors.AsType[*url.Error](err); !unreachable {
		return c, nil // it responds that it is not ready
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if within.Err() != nil || errors.Is(err, syscall.EAGAIN) { // or its backlog is full
		return nil, silent(data, limit)
	}
	return nil, refused(data)
}

// apiPath is the prefix of the API's routes, for Get, Post and Each.
const apiPath = "/api/v1"

// Ask makes a request and returns a response of status 200, whose body the caller closes. An error of the service wraps
// its Problem. The client's Crawler is named unless the query names one.
func (c *Client) Ask(ctx context.Context, method, path string, query url.Values, header http.Header, body io.Reader) (*http.Response, error) {
	all := url.Values{}
	maps.Copy(all, query)
	if c.crawler != "" && !all.Has("crawler") {
		all.Set("crawler", c.crawler)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path+"?"+all.Encode(), body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, */*;q=0.1")
	maps.Copy(request.Header, header)
	if c.reader {
		request.Header.Set(roleHeader, Reader.String())
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the running service: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	words, err := io.ReadAll(io.LimitReader(response.Body, maxProblemBytes))
	if err != nil {
		return nil, err
	}
	return nil, saidNo(response.StatusCode, words)
}

// saidNo returns the error of an unsuccessful response. It wraps a Problem.
func saidNo(status int, body []byte) error {
	var p Problem
	var now Readiness
	switch err := json.Unmarshal(body, &p); {
	case err == nil && p.Detail != "":
	case err == nil && json.Unmarshal(body, &now) == nil && len(now.Problems) > 0:
		if now.Problems[0].Code == notReadyStandby {
			return fmt.Errorf("%w: %s", ErrStandingBy, now.Problems[0].Words)
		}
		p.Detail = now.String()
	default:
		p.Detail = strings.TrimSpace(string(body)) // of another version
	}
	p.Status, p.Title = status, cmp.Or(p.Title, http.StatusText(status))
	switch p.Code {
	case codeWrongUse:
		return fmt.Errorf("%w: %w", ErrRefused, &p)
	case codeDeclined:
		return fmt.Errorf("%w: %w", ErrDeclined, &p)
	case codeNotKnown:
		return fmt.Errorf("%w: %w", ErrNotKnown, &p)
	default:
		return &p
	}
}

// Text reads a text from a route of the API.
func (c *Client) Text(ctx context.Context, path string, query url.Values) (http.Header, []byte, error) {
	answer, err := c.Ask(ctx, http.MethodGet, apiPath+path, query, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.Header, text, err
}

// Get reads JSON from a route of the API.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.decode(ctx, http.MethodGet, path, query, nil, into)
}

// Post sends a body as JSON to a route of the API, and decodes its response.
func (c *Client) Post(ctx context.Context, path string, query url.Values, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.decode(ctx, http.MethodPost, path, query, bytes.NewReader(b), into)
}

func (c *Client) decode(ctx context.Context, method, path string, query url.Values, body io.Reader, into any) error {
	answer, err := c.Ask(ctx, method, apiPath+path, query, http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body) // complete, or its writer is interrupted
	if err != nil {
		return fmt.Errorf("the response of %s was cut off: %w", path, err)
	}
	return json.Unmarshal(text, into)
}

// Each calls fn for each item of a list of the API.
func Each[T any](ctx context.Context, c *Client, path string, query url.Values, fn func(T) error) error {
	answer, err := c.Ask(ctx, http.MethodGet, apiPath+path, query, http.Header{"Accept": {jsonLines}}, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	lines := json.NewDecoder(bufio.NewReader(answer.Body))
	for {
		var v T
		err := lines.Decode(&v)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the list was cut off: %w", err)
		}
		if err := fn(v); err != nil {
			return err
		}
	}
}

// Query builds a query of names and values. It omits empty values.
func Query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// word returns the text of a value in a query; the zero value is empty.
func word[T comparable](v T) string {
	if v == *new(T) {
		return ""
	}
	return fmt.Sprint(v)
}

// AsReader returns the client with the rights of a reader.
func (c *Client) AsReader() *Client {
	other := *c
	other.reader = true
	return &other
}

// For returns the client of another Crawler.
func (c *Client) For(crawler string) *Client {
	other := *c
	other.crawler = crawler
	return &other
}

// Status returns the status of every Crawler, or of the client's own.
func (c *Client) Status(ctx context.Context) ([]Status, error) {
	var all []Status
	err := c.Get(ctx, "/status", nil, &all)
	return all, err
}

// Submit submits URLs, in several requests if they are many. After an error it returns
// the results so far.
func (c *Client) Submit(ctx context.Context, urls []string) (all []crawl.Submitted, err error) {
	for batch := range slices.Chunk(urls, batchURLs) {
		var out []crawl.Submitted
		if err := c.Post(ctx, "/add", nil, urlList{batch}, &out); err != nil {
			return all, err
		}
		all = append(all, out...)
	}
	return all, nil
}

// batchURLs is the number of URLs that a request submits.
const batchURLs = 1000

// urlList is the body of commands on URLs.
type urlList struct {
	URLs []string `json:"urls"`
}

// Refresh queues the selected URLs again.
func (c *Client) Refresh(ctx context.Context, s Selection) (done crawl.Refreshed, err error) {
	err = c.Post(ctx, "/refresh", nil, s, &done)
	return done, err
}

// CountSelected counts the selected URLs that Remove would remove.
func (c *Client) CountSelected(ctx context.Context, s Selection) (n crawl.SelectedCount, err error) {
	err = c.Post(ctx, "/selected", nil, s, &n)
	return n, err
}

// Remove removes the selected URLs, regardless of their number.
func (c *Client) Remove(ctx context.Context, s Selection) (done crawl.Removed, err error) {
	err = c.Post(ctx, "/remove", withYes(), s, &done)
	return done, err
}

// withYes confirms large changes.
func withYes() url.Values { return url.Values{"yes": {"true"}} }

// Backup writes a copy of the store to w. After an error it is incomplete.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	answer, err := c.Ask(ctx, http.MethodGet, apiPath+"/backup", nil, nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, answer.Body); err != nil {
		return fmt.Errorf("the backup was cut off: %w", err)
	}
	return nil
}

// Ready reports by its error why the service is not ready; one that waits for another node's place wraps ErrStandingBy.
func (c *Client) Ready(ctx context.Context) error {
	answer, err := c.Ask(ctx, http.MethodGet, "/readyz", nil, nil, nil)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
