package admin

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testpipe"
)

// TestRoles: each route is open to its role and those above, and closed to those below.
func TestRoles(t *testing.T) {
	d := openDoor(t, nil, nil)
	for _, r := range NewServer(nil, fakeService{}, fakeConfig{}, nil, nil).routes() {
		for _, as := range []struct {
			role  Role
			token string
		}{{Local, ""}, {Reader, d.reader}, {Operator, d.operator}} {
			answer, body := d.do(t, d.request(t, r.method, r.path, as.token, ""))
			refused := answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden
			if refused != (as.role < r.role) {
				t.Errorf("%s as %s: %d %s", r.pattern(), as.role, answer.StatusCode, body)
			}
		}
	}
	if _, body := d.do(t, d.request(t, "GET", "/api/v1/urls", "", "")); !strings.Contains(body, "requires a reader's or the operator's token") {
		t.Errorf("no token: %s", body)
	}
	answer, body := d.do(t, d.request(t, "POST", "/api/v1/pause", d.reader, ""))
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "operator's token") {
		t.Errorf("a reader that pauses: %d %s", answer.StatusCode, body)
	}
	d.do(t, d.request(t, "GET", "/api/v1/status", strings.Repeat("w", MinToken), ""))
	for _, want := range []string{`msg="change refused" what=pause who="reader reader.token 127.0.0.1:`, `msg="an unknown token" remote=127.0.0.1:`} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, d.log.String())
		}
	}
	for _, body := range []string{`{"urls":["http://a.test/"],"config":"<a/>"}`} {
		if answer, said := d.do(t, d.request(t, "POST", "/api/v1/explain", d.reader, body)); answer.StatusCode != http.StatusForbidden {
			t.Errorf("a reader that sends a configuration: %d %s", answer.StatusCode, said)
		}
	}
}

// TestWhereRequestsComeFrom: a page in a browser reaches nothing, whatever name it has
// bent to this service, and with whatever token.
func TestWhereRequestsComeFrom(t *testing.T) {
	d := openDoor(t, nil, nil)
	own := "http://" + strings.TrimPrefix(d.url, "http://")
	for _, tt := range []struct {
		method, path, host string
		header             [2]string
		want               int
	}{
		{"GET", "/status", "evil.example", [2]string{}, 403},
		{"GET", "/healthz", "evil.example:80", [2]string{}, 403},
		{"GET", "/status", "127.0.0.1.evil.example", [2]string{}, 403},
		{"GET", "/status", "localhost.evil.example", [2]string{}, 403},
		{"GET", "/status", "[::1]", [2]string{}, 200},
		{"GET", "/status", "localhost:1", [2]string{}, 200},
		{"POST", "/api/v1/pause", "", [2]string{"Origin", "https://evil.example"}, 403},
		{"POST", "/api/v1/pause", "", [2]string{"Origin", "null"}, 403},
		{"GET", "/api/v1/status", "", [2]string{"Origin", "http://127.0.0.1:1"}, 403},
		{"POST", "/api/v1/pause", "", [2]string{"Origin", own}, 200},
		{"POST", "/api/v1/pause", "", [2]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"GET", "/api/v1/status", "", [2]string{"Sec-Fetch-Site", "same-site"}, 403},
		{"GET", "/api/v1/status", "", [2]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"GET", "/api/v1/status", "", [2]string{"Sec-Fetch-Site", "none"}, 200},
		{"OPTIONS", "/api/v1/pause", "", [2]string{"Access-Control-Request-Method", "POST"}, 405},
	} {
		r := d.request(t, tt.method, tt.path, d.operator, "")
		r.Host = tt.host
		if tt.header[0] != "" {
			r.Header.Set(tt.header[0], tt.header[1])
		}
		answer, body := d.do(t, r)
		if answer.StatusCode != tt.want {
			t.Errorf("%+v: %d %s", tt, answer.StatusCode, body)
		}
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin": "", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%+v: %s is %q", tt, name, got)
			}
		}
	}
}

// TestWrongTokens: few of many unknown tokens are checked; other addresses are not delayed, and the limit recovers.
func TestWrongTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "token")
		right := strings.Repeat("r", MinToken)
		testdir.Write(t, path, right)
		a, err := NewAccess(AccessSettings{OperatorToken: path})
		if err != nil {
			t.Fatal(err)
		}
		g := newGuard(a)
		ask := func(remote, token string) int {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = remote
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			_, p := g.who(r)
			if p == nil {
				return 200
			}
			return p.Status
		}
		said := map[int]int{}
		for i := range 10_000 {
			said[ask("127.0.0.1:99", fmt.Sprintf("%032d", i))]++
		}
		if said[401] != wrongTokensBurst || said[429] != 10_000-wrongTokensBurst {
			t.Errorf("10,000 wrong tokens: %v", said)
		}
		if got := ask("127.0.0.1:98", right); got != 429 {
			t.Errorf("the right token among them: %d", got)
		}
		if got := ask("127.0.0.1:98", ""); got != 200 {
			t.Errorf("no token: %d", got)
		}
		if got := ask("10.0.0.1:98", right); got != 200 {
			t.Errorf("the right token from elsewhere: %d", got)
		}
		time.Sleep(2 * wrongTokenEvery)
		if got := ask("127.0.0.1:98", right); got != 200 {
			t.Errorf("the right token afterwards: %d", got)
		}
	})
}

// TestPace: an address has its pace, and many addresses do not fill the memory.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(nil)
		r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
		said := map[bool]int{}
		for range 2 * requestsBurst {
			said[g.judge(r) == nil]++
		}
		if said[true] != requestsBurst {
			t.Errorf("requests at once: %v", said)
		}
		for i := range 3 * maxAddresses {
			g.paceOf(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>16, i&0xffff)).requests.Allow()
			if i%1000 == 0 {
				time.Sleep(time.Second)
			}
		}
		if n := len(g.paces); n > maxAddresses {
			t.Errorf("%d addresses are remembered", n)
		}
		if g.paceOf("[2001:db8::1]:1") != g.paceOf("[2001:db8::2:1]:1") {
			t.Error("two addresses of one network have a pace each")
		}
	})
}

// TestHostileRequests: what is too large is refused, and no answer or log line can be
// split by what a request holds.
func TestHostileRequests(t *testing.T) {
	d := openDoor(t, nil, nil)
	body := `{"urls":["` + strings.Repeat("x", maxRequestBytes) + `"]}`
	if answer, err := d.client.Do(d.request(t, "POST", "/api/v1/add", d.operator, body)); err == nil { // else it was cut off while it sent
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a huge body: %d", answer.StatusCode)
		}
	}
	w := httptest.NewRecorder()
	NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t)}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler)).answer(w, ownerRequest(t, "add", body))
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "send it in parts") {
		t.Errorf("what is said of a huge body: %d %s", w.Code, w.Body)
	}
	r := d.request(t, "POST", "/api/v1/add", d.operator, "{}")
	r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, 1<<40)), -1
	if answer, err := d.client.Do(r); err == nil {
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("a body without end: %d", answer.StatusCode)
		}
	}
	r = d.request(t, "GET", "/status", "", "")
	r.Header.Set("X-Filler", strings.Repeat("x", 2*maxHeaderBytes))
	if answer, err := d.client.Do(r); err == nil { // as above
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a huge header: %d", answer.StatusCode)
		}
	}
	hostile := `http://a.test/\r\nSet-Cookie: a=b\nmsg=change what=remove`
	if answer, said := d.do(t, d.request(t, "POST", "/api/v1/remove", d.operator, `{"urls":["`+hostile+`"],"source":"a\nb"}`)); answer.StatusCode != http.StatusOK {
		t.Errorf("remove: %d %s", answer.StatusCode, said)
	}
	for line := range strings.Lines(d.log.String()) {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("a line of the log was made by a request: %q", line)
		}
	}
	answer, _ := d.do(t, d.request(t, "GET", "/api/v1/url?url=http%3A%2F%2Fa.test%2F%0d%0aSet-Cookie%3A%20a%3Db", d.operator, ""))
	if answer.Header.Get("Set-Cookie") != "" {
		t.Error("a header was made by a request")
	}
	for _, said := range []string{d.operator, d.reader} {
		if strings.Contains(d.log.String(), said) {
			t.Error("a token stands in the log")
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestSlowRequests: who sends a header, or a body, too slowly is cut off.
func TestSlowRequests(t *testing.T) {
	for name, sent := range map[string]string{
		"header": "GET /status HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"body":   "POST /api/v1/add HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		synctest.Test(t, func(t *testing.T) {
			listener := testpipe.Listen()
			server := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t)}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- server.Run(ctx, nil, listener) }()
			here, err := listener.Dial(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(here, sent); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			var got bytes.Buffer
			_, _ = got.ReadFrom(here) // until the server ends it
			if took := time.Since(begin); took < time.Second || took > bodyTimeout+time.Second {
				t.Errorf("a slow %s was cut off after %s: %s", name, took, got.String())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTokenFiles: what others could read, or guess, is refused with what to do.
func TestTokenFiles(t *testing.T) {
	good := strings.Repeat("g", MinToken)
	for _, tt := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{good, 0o600, ""},
		{"  " + good + "\n", 0o640, ""},
		{good, 0o644, "chmod 600"},
		{good, 0o660, "chmod 600"},
		{good, 0o602, "chmod 600"},
		{"", 0o600, "empty"},
		{" \n", 0o600, "empty"},
		{good[1:], 0o600, "could be guessed"},
		{good + "\n" + good, 0o600, "not a token"},
		{strings.Repeat("g", maxToken+1), 0o600, "not a token"},
		{good + "\x00", 0o600, "not a token"},
	} {
		path := filepath.Join(t.TempDir(), "token")
		testdir.Write(t, path, tt.text)
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		_, err := NewAccess(AccessSettings{OperatorToken: path})
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%.10q with mode %o: %v", tt.text, tt.mode, err)
		}
	}
	if _, err := NewAccess(AccessSettings{OperatorToken: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "the file of the operator's token does not exist: create it") {
		t.Errorf("a token file that is not there: %v", err)
	}
	if _, err := NewAccess(AccessSettings{OperatorToken: t.TempDir()}); err == nil {
		t.Error("a folder is a token")
	}
	data := t.TempDir()
	operator := makeToken(t, data, Operator)
	info, err := os.Stat(TokenPath(data, Operator))
	if err != nil || info.Mode().Perm() != 0o600 || len(operator) != 64 {
		t.Errorf("the token that was made: %v, %v, %d characters", info.Mode(), err, len(operator))
	}
	if _, made, err := EnsureToken(data, Operator); made || err != nil {
		t.Errorf("a token that is there: %v, %v", made, err)
	}
	testdir.Write(t, TokenPath(data, Reader), operator)
	if _, err := NewAccess(AccessSettings{OperatorToken: TokenPath(data, Operator), ReaderToken: TokenPath(data, Reader)}); err == nil || !strings.Contains(err.Error(), "readers would be operators") {
		t.Errorf("one token for both: %v", err)
	}
}

// TestReloadOfTokens: a new token holds, the old one does not; a bad file changes nothing.
func TestReloadOfTokens(t *testing.T) {
	d := openDoor(t, nil, nil)
	next := strings.Repeat("n", MinToken)
	path := TokenPath(d.data, Operator)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.access.Reload(); err == nil {
		t.Error("an empty token is taken")
	}
	if c, ok := d.access.ByToken(d.operator); !ok || c.Role != Operator {
		t.Error("after an error the old token does not hold")
	}
	testdir.Write(t, path, next)
	if err := d.access.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.access.ByToken(d.operator); ok {
		t.Error("the old token still holds")
	}
	if c, ok := d.access.ByToken(next); !ok || c.Name != "operator.token" {
		t.Errorf("the new token: %+v, %v", c, ok)
	}
	for _, none := range []string{"", " ", next[1:], next + "n"} {
		if c, ok := d.access.ByToken(none); ok {
			t.Errorf("%q is %v", none, c)
		}
	}
}

// certificate makes one for a name, and its key.
func certificate(t *testing.T, folder, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: encoded}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestTLS: beyond loopback nothing but health is told without a token, TLS 1.1 is
// refused, the certificate's names are the service's, and a new one counts after a reload.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	cert, key := certificate(t, folder, "crawler.example")
	d := openDoor(t, func(s *AccessSettings) { s.Certificate, s.Key, s.Beyond = cert, key, true }, nil)
	d.url = strings.Replace(d.url, "http:", "https:", 1)
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // its names are looked at below
	d.client.Transport = &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	for _, tt := range []struct {
		path, token, host string
		want              int
	}{
		{"/healthz", "", "", 200},
		{"/status", "", "", 401},
		{"/metrics", "", "", 401},
		{"/status", d.reader, "", 200},
		{"/status", d.reader, "crawler.example", 200},
		{"/status", d.reader, "other.example", 403},
	} {
		r := d.request(t, "GET", tt.path, tt.token, "")
		r.Host = tt.host
		answer, body := d.do(t, r)
		if answer.StatusCode != tt.want || answer.TLS.PeerCertificates[0].DNSNames[0] != "crawler.example" || answer.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%+v: %d %s", tt, answer.StatusCode, body)
		}
	}
	config.MaxVersion, config.MinVersion = tls.VersionTLS11, tls.VersionTLS10
	if answer, err := d.client.Do(d.request(t, "GET", "/healthz", "", "")); err == nil {
		_ = answer.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
	certificate(t, folder, "next.example")
	if err := d.access.Reload(); err != nil {
		t.Fatal(err)
	}
	d.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // as above
	if answer, _ := d.do(t, d.request(t, "GET", "/healthz", "", "")); answer.TLS.PeerCertificates[0].DNSNames[0] != "next.example" {
		t.Error("the old certificate is still shown")
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := d.access.Reload(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
}

// TestMounted: a page that is mounted is guarded as a route is, and knows who signed in.
func TestMounted(t *testing.T) {
	d := openDoor(t, nil, func(s *Server) {
		s.Mount("GET /page", Reader, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, _ := s.Caller(r)
			_, _ = io.WriteString(w, c.String())
		}))
	})
	d.access.SignedIn(func(r *http.Request) (Caller, bool) {
		cookie, err := r.Cookie("session")
		return Caller{Role: Reader, Name: "ann", Socket: true}, err == nil && cookie.Value == "yes"
	})
	if answer, _ := d.do(t, d.request(t, "GET", "/page", "", "")); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", answer.StatusCode)
	}
	r := d.request(t, "GET", "/page", "", "")
	r.Header.Set("Cookie", "session=yes")
	r.Header.Set("Sec-Fetch-Site", "cross-site") // a link on another site
	r.Header.Set("Sec-Fetch-Mode", "navigate")
	r.Header.Set("Sec-Fetch-Dest", "document")
	if answer, body := d.do(t, r); answer.StatusCode != http.StatusOK || !strings.HasPrefix(body, "reader ann 127.0.0.1:") {
		t.Errorf("signed in: %d %s", answer.StatusCode, body)
	}
	r = d.request(t, "POST", "/api/v1/preview", "", `{"path":"/etc/passwd"}`)
	r.Header.Set("Cookie", "session=yes")
	if answer, body := d.do(t, r); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a file, signed in: %d %s", answer.StatusCode, body)
	}
}

// TestPeer: who changes something over the socket stands in the log with the uid.
func TestPeer(t *testing.T) {
	d := openDoor(t, nil, nil)
	c := dial(t, d.data, "")
	if err := c.Post(t.Context(), "/pause", nil, nil, new(struct{})); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(`what=pause who="operator uid %d`, os.Getuid()); !strings.Contains(d.log.String(), want) {
		t.Errorf("the log has no %s:\n%s", want, d.log.String())
	}
	if _, body := d.do(t, d.request(t, "POST", "/api/v1/resume", d.operator, "")); body != "{}\n" {
		t.Errorf("resume: %s", body)
	}
	if want := `what=resume who="operator operator.token 127.0.0.1:`; !strings.Contains(d.log.String(), want) {
		t.Errorf("the log has no %s:\n%s", want, d.log.String())
	}
}
