package peer

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "correct horse battery staple, 32+"

func token(t *testing.T, text string) Token {
	t.Helper()
	k, err := ParseToken(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// serve starts a node that has the token, and returns its address.
func serve(t *testing.T, next http.Handler) string {
	t.Helper()
	s := httptest.NewUnstartedServer(Guard(token(t, secret), next))
	config, err := ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	s.TLS = config
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func read(t *testing.T, c *Client, address, path string) (string, error) {
	t.Helper()
	body, err := c.Get(t.Context(), address, path)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(body)
	return string(b), errors.Join(err, body.Close())
}

func TestGet(t *testing.T) {
	long := strings.Repeat("a long answer ", 100_000)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			_, _ = io.WriteString(w, long)
		case "/cut":
			_, _ = io.WriteString(w, long)
			panic(http.ErrAbortHandler)
		case "/why", "/soon":
			_, _ = io.WriteString(w, long[:map[string]int{"/why": len(long), "/soon": 5}[r.URL.Path]])
			Cut(w, r, errors.New("the disk\nis full "+strings.Repeat("!", 9000)))
		case "/old":
			_, _ = io.WriteString(w, "short")
			r.Header.Del("TE") // as who does not know of it
			Cut(w, r, errors.New("the disk is full"))
		case "/ill":
			http.Error(w, "<b>", http.StatusInternalServerError)
		default:
			http.NotFound(w, r)
		}
	}))
	c := &Client{Token: token(t, " "+secret+"\n")} // as it stands in a file
	if got, err := read(t, c, address, "/long"); err != nil || got != long {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(long))
	}
	if got, err := read(t, c, address, "/cut"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d bytes of what was cut short, %v", len(got), err)
	}
	for _, path := range []string{"/why", "/soon"} {
		if got, err := read(t, c, address, path); !errors.Is(err, ErrDeclined) || !strings.Contains(err.Error(), "the disk is full !") || !strings.HasPrefix(long, got) {
			t.Errorf("%s: %d bytes, %.200v", path, len(got), err)
		}
	}
	if got, err := read(t, c, address, "/old"); err == nil {
		t.Errorf("%q of what was cut for who is not told why", got)
	}
	if _, err := read(t, c, address, "/other"); !errors.Is(err, ErrMissing) {
		t.Errorf("error %v, want ErrMissing", err)
	}
	if _, err := read(t, c, address, "/ill"); err == nil || strings.Contains(err.Error(), "<b>") || !strings.Contains(err.Error(), address) {
		t.Errorf("error %v, want one that names the node and says nothing of its own", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, address, "/long"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestOtherToken: neither end tells the other anything before it has seen the proof.
func TestOtherToken(t *testing.T) {
	asked := false
	address := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	c := &Client{Token: token(t, "another "+secret)}
	if _, err := read(t, c, address, "/"); !errors.Is(err, ErrProof) {
		t.Errorf("error %v, want ErrProof", err)
	}
	plain := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := plain.Get("https://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Body.Close() != nil {
		t.Error(err)
	}
	if resp.StatusCode != http.StatusForbidden || resp.Header.Get(header) != "" {
		t.Errorf("without a proof: %d %q with proof %q, want 403 without", resp.StatusCode, body, resp.Header.Get(header))
	}
	if asked {
		t.Error("somebody without the token was answered")
	}
}

// TestServerWithoutToken: a client gives nothing on that a server without the token says, whatever it shows.
func TestServerWithoutToken(t *testing.T) {
	config, err := ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	for name, show := range map[string]func(shown string) string{
		"nothing": func(string) string { return "" }, "what it was shown": func(shown string) string { return shown },
	} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(header, show(r.Header.Get(header)))
			_, _ = io.WriteString(w, "a forged copy")
		}))
		s.TLS = config
		s.StartTLS()
		c := &Client{Token: token(t, secret)}
		if got, err := read(t, c, s.Listener.Addr().String(), "/"); !errors.Is(err, ErrProof) || got != "" {
			t.Errorf("a server that shows %s: %q, %v, want ErrProof", name, got, err)
		}
		s.Close()
	}
}

// between relays requests between a client and a node, with a certificate of its own, and sees all.
type between struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request, to string) {
	conn, err := tls.Dial("tcp", to, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		http.Error(w, "gone", http.StatusBadGateway)
		return
	}
	defer conn.Close()
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", "https", to
	resp, err := (&http.Transport{DisableKeepAlives: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}).RoundTrip(out)
	if err != nil {
		http.Error(w, "gone", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	b.mu.Lock()
	fmt.Fprint(&b.seen, r.Header, resp.Header, string(body))
	b.mu.Unlock()
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body)
}

// TestBetween: who stands between two nodes learns neither the token nor an answer.
func TestBetween(t *testing.T) {
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the crawl") }))
	config, err := ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	b := &between{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.ServeHTTP(w, r, address) }))
	s.TLS = config
	s.StartTLS()
	defer s.Close()
	c := &Client{Token: token(t, secret)}
	if got, err := read(t, c, s.Listener.Addr().String(), "/"); !errors.Is(err, ErrProof) || got != "" {
		t.Errorf("through somebody else: %q, %v, want ErrProof", got, err)
	}
	seen := b.seen.String()
	if !strings.Contains(seen, header) || strings.Contains(seen, secret) || strings.Contains(seen, "the crawl") {
		t.Errorf("somebody between has seen: %s", seen)
	}
	if got, err := read(t, c, address, "/"); err != nil || got != "the crawl" {
		t.Errorf("without somebody between: %q, %v", got, err)
	}
}

// TestOldTLS: before version 1.3 a connection's keys are not those of one connection alone.
func TestOldTLS(t *testing.T) {
	address := serve(t, http.NotFoundHandler())
	if conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}); err == nil {
		_ = conn.Close()
		t.Error("a node speaks TLS 1.2")
	}
	k := token(t, secret)
	if k.proves(&tls.ConnectionState{Version: tls.VersionTLS12}, asks, "") || k.proves(nil, asks, "") {
		t.Error("a proof without the keys of a connection")
	}
}

func TestToken(t *testing.T) {
	if _, err := ParseToken("secret"); err == nil || strings.Contains(err.Error(), "secret ") || !strings.Contains(err.Error(), "at least 32") {
		t.Errorf("a short token: %v, want the least length", err)
	}
	a, b := NewToken(), NewToken()
	if a == b {
		t.Error("two tokens are the same")
	}
	k := token(t, a)
	for _, words := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %x %s", k, k, k, k, k), slog.AnyValue(k).Resolve().String()} {
		if strings.Contains(words, a) || strings.Trim(words, "(token) ") != "" {
			t.Errorf("a token is printed as %q", words)
		}
	}
}
