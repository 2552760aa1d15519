package papi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-cleanhttp"
	"github.com/hashicorp/go-retryablehttp"
)

// maxAnswer bounds what is read of an answer: numbers, and words of errors.
const maxAnswer = 64 << 10

// Target is a push.Target for one connector of a server.
type Target struct {
	set      Settings
	commands string
	client   *retryablehttp.Client

	session string // "" before it is known
	mark    mark
}

// New checks the settings; it makes no request.
func New(s Settings) (*Target, error) {
	s.setDefaults()
	commands, err := s.commandsURL()
	if err != nil {
		return nil, err
	}
	transport := s.Transport
	if transport == nil {
		transport = cleanhttp.DefaultPooledTransport()
	}
	client := retryablehttp.NewClient()
	client.Logger = nil // errors are logged once, by the relay
	client.RetryMax = s.Retries
	client.RetryWaitMin, client.RetryWaitMax = s.RetryWait, s.RetryWaitMax
	client.Backoff = backoff
	client.ErrorHandler = lastAnswer
	client.HTTPClient = &http.Client{
		Transport: transport,
		Timeout:   s.Timeout,
		// A redirected POST would become a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Target{set: s, commands: commands, client: client}, nil
}

// backoff is retryablehttp's own (Retry-After, or doubling) within its bounds,
// and with jitter where the server asked for nothing.
func backoff(first, most time.Duration, attempt int, resp *http.Response) time.Duration {
	if resp != nil && resp.Header.Get("Retry-After") != "" {
		wait := retryablehttp.DefaultBackoff(first, most, attempt, resp)
		if wait < 0 { // more seconds than a Duration has
			wait = most
		}
		return min(wait, most)
	}
	wait := retryablehttp.DefaultBackoff(first, most, attempt, nil)
	return wait/2 + rand.N(wait/2+1)
}

// lastAnswer keeps the last answer when retries are used up, for its words.
func lastAnswer(resp *http.Response, err error, _ int) (*http.Response, error) {
	if err != nil && resp != nil {
		_ = resp.Body.Close() // the context ended: err is what counts
		return nil, err
	}
	return resp, err
}

// Name is the target's name.
func (t *Target) Name() string { return t.set.Name }

// Close drops idle connections.
func (t *Target) Close() error {
	t.client.HTTPClient.CloseIdleConnections()
	return nil
}

// request is a command with what it carries.
type request struct {
	method, command string
	query           url.Values // PAPI_session is added
	contentType     string
	body            []byte
}

// statusError is an answer that is no success.
type statusError struct {
	command string
	status  int
	words   string // the server's
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("%s: the server answered %d %s", e.command, e.status, http.StatusText(e.status))
	switch {
	case e.status >= 300 && e.status < 400:
		s += ", a redirect: write the address that it leads to as url"
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		s += ": check user and password"
	case e.status == http.StatusNotFound:
		s += ": check url and connector"
	}
	if e.words != "" {
		s += ": " + strconv.Quote(e.words)
	}
	return s
}

// ofContent says that the server may have refused what the request contains.
func (e *statusError) ofContent() bool {
	switch e.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong:
		return true
	}
	return false
}

// do sends a command in the current session and returns the answer's body.
func (t *Target) do(ctx context.Context, r request) (string, error) {
	if t.session == "" {
		session, err := t.currentSession(ctx)
		if err != nil {
			return "", err
		}
		t.session = session
	}
	query := url.Values{"PAPI_session": {t.session}}
	for name, values := range r.query {
		query[name] = values
	}
	r.query = query
	return t.send(ctx, r)
}

// currentSession asks for the id of the server's session, a number of up to 63
// bits that changes when the server restarts.
func (t *Target) currentSession(ctx context.Context) (string, error) {
	body, err := t.send(ctx, request{method: http.MethodGet, command: "get_current_session_id"})
	if err != nil {
		return "", err
	}
	if id, err := strconv.ParseUint(body, 10, 64); err != nil || id > math.MaxInt64 {
		return "", fmt.Errorf("get_current_session_id: the answer %q is no session id: is url the address of a Push API?", clip(body, 100))
	}
	return body, nil
}

// send makes one request with its repetitions and returns the answer's body,
// without white space around it.
func (t *Target) send(ctx context.Context, r request) (string, error) {
	address := t.commands + r.command
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var body any
	if r.body != nil {
		body = r.body
	}
	req, err := retryablehttp.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.command, err)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	if t.set.User != "" {
		req.SetBasicAuth(t.set.User, t.set.Password)
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.command, withoutURL(err))
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return "", &statusError{command: r.command, status: resp.StatusCode, words: errorWords(answer)}
	}
	if err != nil {
		return "", fmt.Errorf("%s: reading the answer: %w", r.command, withoutURL(err))
	}
	return strings.TrimSpace(string(answer)), nil
}

// withoutURL drops the address from err: that of a deletion may be very long.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
