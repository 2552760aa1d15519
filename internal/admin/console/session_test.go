package console

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
)

func TestMain(m *testing.M) {
	// Bleve starts these when the program starts.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// door is a real server with a console, without a crawl.
type door struct {
	url              string
	operator, reader string // tokens
	data             string
	access           *admin.Access
	console          *Console
	log              *testlog.Buffer
}

func openDoor(t *testing.T) *door {
	t.Helper()
	d := &door{data: t.TempDir(), log: &testlog.Buffer{}}
	token := func(role admin.Role) string {
		path, _, err := admin.EnsureToken(d.data, role)
		if err != nil {
			t.Fatal(err)
		}
		b := testdir.Read(t, path)
		return strings.TrimSpace(string(b))
	}
	d.operator, d.reader = token(admin.Operator), token(admin.Reader)
	var err error
	if d.access, err = admin.NewAccess(admin.AccessSettings{OperatorToken: admin.TokenPath(d.data, admin.Operator), ReaderToken: admin.TokenPath(d.data, admin.Reader)}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(d.log, nil))
	server := admin.NewServer(nil, nil, nil, d.access, log)
	if d.console, err = New(server, Settings{Version: "test"}, log); err != nil {
		t.Fatal(err)
	}
	d.access.SignedIn(d.console.SignedIn(d.access))
	for _, pattern := range d.console.Patterns() {
		server.Mount(pattern, admin.Nobody, d.console)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx, l, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	d.url = "http://" + l.Addr().String()
	return d
}

// browser keeps cookies and says where its requests come from; it follows nothing.
type browser struct {
	*http.Client
	door *door
}

func (d *door) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{&http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, d}
}

// send makes a request; header are names and values. A form is posted.
func (b *browser) send(t *testing.T, path string, form url.Values, header ...string) (*http.Response, string) {
	t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.door.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.door.url)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	answer, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// signIn signs in and gives the cookie.
func (b *browser) signIn(t *testing.T, token string) *http.Cookie {
	t.Helper()
	answer, body := b.send(t, "/signin", url.Values{"token": {token}, "next": {"/hosts"}})
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/hosts" || len(answer.Cookies()) != 1 {
		t.Fatalf("sign-in: %d, %v\n%s", answer.StatusCode, answer.Header, body)
	}
	return answer.Cookies()[0]
}

// with returns a browser that sends one cookie and takes none.
func (b *browser) with(t *testing.T, path string, cookies ...*http.Cookie) int {
	t.Helper()
	var parts []string
	for _, c := range cookies {
		parts = append(parts, c.Name+"="+c.Value)
	}
	answer, _ := b.send(t, path, nil, "Cookie", strings.Join(parts, "; "))
	return answer.StatusCode
}

// api is a path of the API that a reader may use, operators one of their own.
const (
	readersPath   = "/api/v1/openapi.yaml"
	operatorsPath = "/api/v1/console"
)

func TestSignInAndOut(t *testing.T) {
	d := openDoor(t)
	b := d.browser(t)
	answer, _ := b.send(t, "/hosts?show=ill", nil)
	if got := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || got != "/signin?next=%2Fhosts%3Fshow%3Dill" {
		t.Errorf("without a token: %d to %s", answer.StatusCode, got)
	}
	cookie := b.signIn(t, " "+d.operator+"\n")
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.MaxAge != 12*3600 || cookie.Secure {
		t.Errorf("cookie %+v", cookie)
	}
	if strings.Contains(cookie.Value, d.operator) || len(cookie.Value) < 40 {
		t.Errorf("the cookie's value is %q", cookie.Value)
	}
	if answer, _ := b.send(t, readersPath, nil); answer.StatusCode != http.StatusOK {
		t.Errorf("signed in: %d", answer.StatusCode)
	}
	if answer, _ := b.send(t, "/signin?next=/rules", nil); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/rules" {
		t.Errorf("the form for somebody who has signed in: %d", answer.StatusCode)
	}
	if answer, _ := b.send(t, "/signout", url.Values{}); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("sign-out: %d", answer.StatusCode)
	}
	if status := d.browser(t).with(t, readersPath, cookie); status != http.StatusUnauthorized {
		t.Errorf("the cookie after signing out: %d", status)
	}
	if log := d.log.String(); strings.Contains(log, d.operator) || strings.Contains(log, cookie.Value) || !strings.Contains(log, "signed in") || !strings.Contains(log, "signed out") {
		t.Errorf("log: %s", log)
	}
}

// TestRoleOfACookie: each cookie has the rights of its token, no others, and the two
// do not add up.
func TestRoleOfACookie(t *testing.T) {
	d := openDoor(t)
	reader, operator := d.browser(t).signIn(t, d.reader), d.browser(t).signIn(t, d.operator)
	nobody := d.browser(t)
	for _, try := range []struct {
		what      string
		path      string
		cookies   []*http.Cookie
		forbidden int // 0: it may
	}{
		{"reader", readersPath, []*http.Cookie{reader}, 0},
		{"reader", operatorsPath, []*http.Cookie{reader}, http.StatusForbidden},
		{"operator", readersPath, []*http.Cookie{operator}, 0},
		{"both", readersPath, []*http.Cookie{reader, operator}, http.StatusUnauthorized},
		{"both", operatorsPath, []*http.Cookie{operator, reader}, http.StatusUnauthorized},
		{"none", readersPath, nil, http.StatusUnauthorized},
		{"empty", readersPath, []*http.Cookie{{Name: reader.Name}}, http.StatusUnauthorized},
		{"made up", readersPath, []*http.Cookie{{Name: reader.Name, Value: strings.Repeat("A", len(reader.Value))}}, http.StatusUnauthorized},
		{"changed", readersPath, []*http.Cookie{{Name: reader.Name, Value: "A" + reader.Value[1:] + "A"}}, http.StatusUnauthorized},
		{"the token itself", readersPath, []*http.Cookie{{Name: reader.Name, Value: d.reader}}, http.StatusUnauthorized},
		{"another port's", readersPath, []*http.Cookie{{Name: "sextant-1", Value: reader.Value}}, http.StatusUnauthorized},
		{"without a port", readersPath, []*http.Cookie{{Name: "sextant", Value: reader.Value}}, http.StatusUnauthorized},
		{"very long", readersPath, []*http.Cookie{{Name: reader.Name, Value: strings.Repeat("A", 30000)}}, http.StatusUnauthorized},
	} {
		got := nobody.with(t, try.path, try.cookies...)
		if try.forbidden == 0 && got != http.StatusOK || try.forbidden != 0 && got != try.forbidden {
			t.Errorf("%s at %s: %d, want %d", try.what, try.path, got, try.forbidden)
		}
	}
	if got := nobody.with(t, operatorsPath, operator); got != http.StatusUnprocessableEntity { // it has no console to tell of
		t.Errorf("operator: %d", got)
	}
}

// TestFixation: signing in ends the earlier session, which another person may know.
func TestFixation(t *testing.T) {
	d := openDoor(t)
	known := d.browser(t).signIn(t, d.reader)
	victim := d.browser(t)
	answer, _ := victim.send(t, "/signin", url.Values{"token": {d.operator}}, "Cookie", known.Name+"="+known.Value)
	if len(answer.Cookies()) != 1 || answer.Cookies()[0].Value == known.Value {
		t.Fatalf("cookies %v", answer.Cookies())
	}
	if got := d.browser(t).with(t, readersPath, known); got != http.StatusUnauthorized {
		t.Errorf("the known session: %d", got)
	}
	made := &http.Cookie{Name: known.Name, Value: "CHOSEN"}
	d.browser(t).send(t, "/signin", url.Values{"token": {d.operator}}, "Cookie", made.Name+"="+made.Value)
	if got := d.browser(t).with(t, readersPath, made); got != http.StatusUnauthorized {
		t.Errorf("a session of a chosen name: %d", got)
	}
}

// TestGuessing: after some wrong tokens one must wait, also with the right one, and
// also with tokens in headers.
func TestGuessing(t *testing.T) {
	d := openDoor(t)
	b := d.browser(t)
	slowed := 0
	for range 30 {
		answer, body := b.send(t, "/signin", url.Values{"token": {"guess<script>"}})
		switch answer.StatusCode {
		case http.StatusTooManyRequests:
			slowed++
			if answer.Header.Get("Retry-After") == "" {
				t.Error("it does not say when to try again")
			}
		case http.StatusUnauthorized:
		default:
			t.Errorf("a guess: %d", answer.StatusCode)
		}
		if strings.Contains(body, "guess") || len(answer.Cookies()) > 0 {
			t.Errorf("the answer to a guess: %v\n%s", answer.Cookies(), body)
		}
	}
	if slowed < 10 {
		t.Errorf("%d of 30 guesses were slowed down", slowed)
	}
	answer, _ := b.send(t, readersPath, nil, "Authorization", "Bearer wrong")
	if answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a token in a header after guesses: %d", answer.StatusCode)
	}
	if strings.Contains(d.log.String(), "guess") {
		t.Error("the log has what was typed")
	}
}

// TestOtherSites: no page of another site signs anybody in or out, or changes anything.
func TestOtherSites(t *testing.T) {
	d := openDoor(t)
	b := d.browser(t)
	b.signIn(t, d.operator)
	for _, header := range [][]string{
		{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
		{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
		{"Origin", "null", "Sec-Fetch-Site", ""},
		{"Origin", "", "Sec-Fetch-Site", "none"},
		{"Origin", "", "Sec-Fetch-Site", ""},
		{"Origin", "", "Sec-Fetch-Site", "same-site"},
	} {
		for _, path := range []string{"/signin", "/signout", "/pause", "/add", "/api/v1/reload"} {
			answer, _ := b.send(t, path, url.Values{"token": {d.operator}}, header...)
			if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusUnauthorized || len(answer.Cookies()) > 0 {
				t.Errorf("%s from %v: %d", path, header, answer.StatusCode)
			}
		}
	}
	if answer, _ := b.send(t, "/hosts", nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("a frame of another site: %d", answer.StatusCode)
	}
}

// TestSessionsEndWithTheirToken: a token that was changed lets nobody in any more.
func TestSessionsEndWithTheirToken(t *testing.T) {
	d := openDoor(t)
	b := d.browser(t)
	b.signIn(t, d.reader)
	testdir.Write(t, admin.TokenPath(d.data, admin.Reader), strings.Repeat("ab", 32)+"\n")
	if err := d.access.Reload(); err != nil {
		t.Fatal(err)
	}
	if answer, _ := b.send(t, readersPath, nil); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the token was changed: %d", answer.StatusCode)
	}
}

// TestSessionsAreBounded: in time and number.
func TestSessionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		request := func(id string) *http.Request {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:7370/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.AddCookie(&http.Cookie{Name: "sextant-7370", Value: id})
			return r
		}
		first := s.begin(&session{token: "t"})
		time.Sleep(time.Second)
		var last string
		for range maxSessions {
			last = s.begin(&session{token: "t"})
		}
		if len(s.open) != maxSessions || s.of(request(first)) != nil || s.of(request(last)) == nil {
			t.Errorf("%d sessions; the oldest is %v, the newest %v", len(s.open), s.of(request(first)), s.of(request(last)))
		}
		time.Sleep(sessionTime - time.Nanosecond)
		if s.of(request(last)) == nil {
			t.Error("the session ended early")
		}
		time.Sleep(time.Nanosecond)
		if s.of(request(last)) != nil {
			t.Error("the session does not end")
		}
		if s.begin(&session{token: "t"}); len(s.open) != 1 {
			t.Errorf("%d sessions are kept that ended", len(s.open)-1)
		}
	})
}

func TestNextPath(t *testing.T) {
	for written, want := range map[string]string{
		"": "/", "/hosts": "/hosts", "/url?url=http://a/%3F": "/url?url=http%3A%2F%2Fa%2F%3F", "/hosts/http:%2F%2Fa": "/hosts/http:%2F%2Fa",
		"//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", `\/evil.example`: "/", "/%2Fevil.example": "/",
		"javascript:alert(1)": "/", "hosts": "/", "/\tx": "/", "/\n/evil.example": "/", "/signout": "/", "http:evil": "/", "/a\x00": "/", "%2f": "/", "%2Fhosts": "/", "//": "/", "///": "/", "?x": "/",
	} {
		if got := nextPath(written); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}

// FuzzNextPath: wherever somebody is sent, it is on this service.
func FuzzNextPath(f *testing.F) {
	for _, s := range []string{"/", "//a", "/%2f/a", "/\\a", "https:a", "/a?b=//c", "/.//a", "/a/..//b", "/;//a", "/%5ca"} {
		f.Add(s)
	}
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:7370", Path: "/signin"}
	f.Fuzz(func(t *testing.T, written string) {
		got := nextPath(written)
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil || !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t\x00") {
			t.Errorf("%q leads to %q", written, got)
		}
	})
}

// TestTickets: a ticket signs in once, and not for ever.
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		s.admit("one", "token 1")
		s.admit("two", "token 2")
		if _, ok := s.redeem("three"); ok {
			t.Error("a ticket that nobody made is taken")
		}
		if token, ok := s.redeem("one"); !ok || token != "token 1" {
			t.Errorf("redeemed %q, %v", token, ok)
		}
		if _, ok := s.redeem("one"); ok {
			t.Error("a ticket is taken twice")
		}
		time.Sleep(ticketTime)
		if _, ok := s.redeem("two"); ok || len(s.tickets) != 0 {
			t.Error("a ticket is taken for ever")
		}
	})
}

// TestTicketIsKeptByHead: checking a link by HEAD does not use it up; opening it does.
func TestTicketIsKeptByHead(t *testing.T) {
	d := openDoor(t)
	d.console.Admit("nobody guesses this", d.operator)
	link := "/signin?ticket=nobody+guesses+this"
	answer, err := http.Head(d.url + link)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if answer.StatusCode != http.StatusOK || len(answer.Cookies()) > 0 {
		t.Errorf("HEAD: %d with %d cookies", answer.StatusCode, len(answer.Cookies()))
	}
	for i, want := range []int{http.StatusSeeOther, http.StatusOK} {
		answer, _ := d.browser(t).send(t, link, nil)
		if answer.StatusCode != want || (len(answer.Cookies()) > 0) != (i == 0) {
			t.Errorf("opened %d times: %d with %d cookies", i+1, answer.StatusCode, len(answer.Cookies()))
		}
	}
}
