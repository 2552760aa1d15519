package papi

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/push/wire"
)

// Target is a push.Target for one connector of a server.
type Target struct {
	wire.Endpoint
	set      Settings
	commands string // the path that the name of a command is appended to

	session string // "" before it is known
	mark    mark
}

// New checks the settings; it makes no request.
func New(s Settings) (*Target, error) {
	s.setDefaults()
	connector, err := wire.Segment("connector", s.Connector)
	if err != nil {
		return nil, fmt.Errorf("the papi target: %w", err)
	}
	endpoint, err := wire.NewEndpoint(s.Name, s.Server)
	if err != nil {
		return nil, err
	}
	return &Target{Endpoint: endpoint, set: s, commands: "/papi/4/connectors/" + connector + "/"}, nil
}

// request is a command with its content.
type request struct {
	method, command string
	query           url.Values // PAPI_session is added
	contentType     string
	body            []byte
}

func (t *Target) wire(r request) wire.Request {
	return wire.Request{
		Name: r.command, Method: r.method, Path: t.commands + r.command, Query: r.query,
		ContentType: r.contentType, Body: r.body,
	}
}

// do sends a command in the current session and returns the response's body, without white space around it.
func (t *Target) do(ctx context.Context, r request) (string, error) {
	r, err := t.inSession(ctx, r)
	if err != nil {
		return "", err
	}
	return t.send(ctx, r)
}

// inSession is r with the current session.
func (t *Target) inSession(ctx context.Context, r request) (request, error) {
	if t.session == "" {
		session, err := t.currentSession(ctx)
		if err != nil {
			return r, err
		}
		t.session = session
	}
	query := url.Values{"PAPI_session": {t.session}}
	for name, values := range r.query {
		query[name] = values
	}
	r.query = query
	return r, nil
}

func (t *Target) send(ctx context.Context, r request) (string, error) {
	body, err := t.Client.Do(ctx, t.wire(r))
	return strings.TrimSpace(string(body)), err
}

// currentSession asks for the id of the server's session, a number of up to 63
// bits that changes when the server restarts.
func (t *Target) currentSession(ctx context.Context) (string, error) {
	body, err := t.send(ctx, request{method: http.MethodGet, command: "get_current_session_id"})
	if err != nil {
		return "", err
	}
	if id, err := strconv.ParseUint(body, 10, 64); err != nil || id > math.MaxInt64 {
		return "", fmt.Errorf("get_current_session_id: the answer %q is not a session id: is url the address of a Push API?", wire.Clip(body, 100))
	}
	return body, nil
}
