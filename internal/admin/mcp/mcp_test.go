package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// door is a service without a Crawler, and the callers of its MCP.
type door struct {
	*admin.Server
	url              string
	operator, reader string

	mu      sync.Mutex
	callers []admin.Caller
}

func (d *door) As(c admin.Caller) http.Handler {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.callers = append(d.callers, c)
	return d.Server.As(c)
}

func openDoor(t *testing.T) *door {
	t.Helper()
	data := t.TempDir()
	token := func(role admin.Role) string {
		path, _, err := admin.EnsureToken(data, role)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(testdir.Read(t, path)))
	}
	d := &door{operator: token(admin.Operator), reader: token(admin.Reader)}
	access, err := admin.NewAccess(admin.AccessSettings{OperatorToken: admin.TokenPath(data, admin.Operator),
		ReaderToken: admin.TokenPath(data, admin.Reader)})
	if err != nil {
		t.Fatal(err)
	}
	d.Server = admin.NewServer(nil, nil, nil, access, slog.New(slog.DiscardHandler))
	d.Mount(Pattern, admin.Reader, Handler(d, "test"))
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, l, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	d.url = "http://" + l.Addr().String() + "/mcp"
	return d
}

// withToken adds a token to each request.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	r.Close = true
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects the SDK's own client.
func connect(t *testing.T, over sdk.Transport) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func (d *door) client(t *testing.T, token string) *sdk.ClientSession {
	t.Helper()
	return connect(t, &sdk.StreamableClientTransport{Endpoint: d.url,
		HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true, MaxRetries: -1})
}

// called returns the text of a tool's result.
func called(t *testing.T, s *sdk.ClientSession, name string, arguments any) (text string, failed bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// TestOverHTTP: an operator's token gives a reader's rights, and nothing that is offered writes.
func TestOverHTTP(t *testing.T) {
	d := openDoor(t)
	for _, token := range []string{d.reader, d.operator} {
		s := d.client(t, token)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || tool.Description == "" {
				t.Errorf("%s is not marked as only reading, or not described", tool.Name)
			}
		}
		for _, name := range []string{"status", "urls", "url", "links", "explain", "reportBroken"} {
			if !slices.Contains(names, name) {
				t.Errorf("there is no tool %s", name)
			}
		}
		for _, name := range []string{"remove", "refresh", "reload", "readConfig", "writeConfig", "backup", "fetch",
			"release", "console"} {
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil || slices.Contains(names, name) {
				t.Errorf("there is a tool %s", name)
			}
		}
		if text, failed := called(t, s, "status", map[string]any{}); failed || strings.TrimSpace(text) != "[]" &&
			strings.TrimSpace(text) != "null" {
			t.Errorf("status: %s", text)
		}
		for _, arguments := range []map[string]any{{"yes": true}, {"limit": 1001}, {"limit": map[string]any{}},
			{"crawler": "none"}} {
			if text, failed := called(t, s, "urls", arguments); !failed {
				t.Errorf("urls %v: %s", arguments, text)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.callers {
		if c.Role != admin.Reader || c.Socket || c.Name == "" || c.Remote == "" {
			t.Errorf("the API was asked by %+v", c)
		}
	}
	if len(d.callers) == 0 {
		t.Error("the API was not asked")
	}
}

// TestAttackers: a page of another site, a name that was bound again, and requests without a token get nothing.
func TestAttackers(t *testing.T) {
	d := openDoor(t)
	const message = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for what, c := range map[string]struct {
		header []string
		body   string
		want   int
	}{
		"a program with a token": {[]string{"Authorization", "Bearer " + d.reader}, message, 200},
		"no token":               {nil, message, 401},
		"a wrong token":          {[]string{"Authorization", "Bearer " + strings.Repeat("x", 64)}, message, 401},
		"a foreign origin": {[]string{"Authorization", "Bearer " + d.reader, "Origin", "http://evil.test"},
			message, 403},
		"an opaque origin": {[]string{"Authorization", "Bearer " + d.reader, "Origin", "null"}, message, 403},
		"a browser's foreign request": {[]string{"Authorization", "Bearer " + d.reader, "Sec-Fetch-Site", "cross-site"},
			message, 403},
		"a name that was bound again": {[]string{"Authorization", "Bearer " + d.reader, "Host", "evil.test"}, message, 403},
		"a form": {[]string{"Authorization", "Bearer " + d.reader, "Content-Type", "text/plain"},
			message, 415},
		"a batch": {[]string{"Authorization", "Bearer " + d.reader}, " [" + message + "," + message + "]", 400},
		"a huge message": {[]string{"Authorization", "Bearer " + d.reader}, strings.Repeat(" ", maxMessage+1),
			413},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for i := 0; i < len(c.header); i += 2 {
			if r.Header.Set(c.header[i], c.header[i+1]); c.header[i] == "Host" {
				r.Host = c.header[i+1]
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != c.want || c.want == 200 && !bytes.Contains(body, []byte(`"urls"`)) {
			t.Errorf("%s: %d, want %d: %.200s %v", what, answer.StatusCode, c.want, body, err)
		}
	}
}

// TestOverStreams: the client's messages get responses until they end; the service grants a reader's rights, although
// the socket's owner is the operator.
func TestOverStreams(t *testing.T) {
	d := openDoor(t)
	owner := admin.ClientOf(d.Server.As(admin.Caller{Role: admin.Operator, Socket: true, Remote: "socket"}), "")
	ask := func(_ context.Context, fn func(*admin.Client) error) error { return fn(owner) }
	if err := owner.Get(t.Context(), "/console", nil, new(any)); err == nil || !strings.Contains(err.Error(),
		"has no console") {
		t.Fatalf("the owner is no operator: %v", err)
	}
	if err := owner.AsReader().Get(t.Context(), "/console", nil, new(any)); err == nil || !strings.Contains(err.Error(),
		"a reader may not do this") {
		t.Errorf("with fewer rights: %v", err)
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(t.Context(), "test", fromClient, toClient, ask) }()
	s := connect(t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
	if text, failed := called(t, s, "status", nil); failed {
		t.Errorf("status: %s", text)
	}
	if text, failed := called(t, s, "url", map[string]any{"url": "http://a.test/"}); !failed || text == "" {
		t.Errorf("url without a Crawler: %s", text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end of the client: %v", err)
	}
}

// TestInputEnds: requests before the end of the input get their responses, also after a line that is not JSON.
func TestInputEnds(t *testing.T) {
	release := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write([]byte(`"late"`))
	})
	ask := func(_ context.Context, fn func(*admin.Client) error) error { return fn(admin.ClientOf(slow, "")) }
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize",` + `"params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"hand","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{broken

{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"status"}}
{"jsonrpc":"2.0","id":3,"method":"no/such"}`)
	var out bytes.Buffer
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	if err := Serve(t.Context(), "test", in, &out, ask); err != nil {
		t.Error(err)
	}
	if text := out.String(); !strings.Contains(text, "late") || !strings.Contains(text, `"id":3`) ||
		strings.Count(text, "-32700") != 1 {
		t.Errorf("answers: %s", text)
	}
}

// TestLongAnswers are refused with what to do.
func TestLongAnswers(t *testing.T) {
	long := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), maxAnswer+1))
	})
	read := admin.Reads()[0]
	ask := func(_ context.Context, fn func(*admin.Client) error) error { return fn(admin.ClientOf(long, "")) }
	if _, err := call(t.Context(), ask, &read, json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(),
		"fewer entries") {
		t.Errorf("%v", err)
	}
	long = func(http.ResponseWriter, *http.Request) {}
	if text, err := call(t.Context(), ask, &read, nil); err != nil || text != "no entries" {
		t.Errorf("%q, %v", text, err)
	}
}
