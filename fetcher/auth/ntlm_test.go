package auth_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// ntlmServer authenticates connections as MS-NLMP says, section 3.3.2 (NTLMv2),
// written here from the specification.
type ntlmServer struct {
	scheme string // NTLM or Negotiate
	ntHash string // MD4 of the password in UTF-16LE, hexadecimal

	mu        sync.Mutex
	challenge map[string][]byte // by connection
	in        map[string]bool
	requests  []string
	reason    string
	garbage   string // the challenge to send instead
	close     bool   // every answer ends its connection
}

func utf16le(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

func (n *ntlmServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.close {
		w.Header().Set("Connection", "close")
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), n.scheme+" ")
	message, _ := base64.StdEncoding.DecodeString(token)
	kind := uint32(0)
	if len(message) > 12 && bytes.HasPrefix(message, []byte("NTLMSSP\x00")) {
		kind = binary.LittleEndian.Uint32(message[8:])
	}
	n.requests = append(n.requests, fmt.Sprint(r.URL.Path, " ", kind))
	switch kind {
	case 1:
		n.in[r.RemoteAddr] = false
		server := []byte{1, 2, 3, 4, 5, 6, 7, byte(len(n.requests))}
		n.challenge[r.RemoteAddr] = server
		n.refuse(w, " "+base64.StdEncoding.EncodeToString(challengeMessage(server)))
		return
	case 3:
		n.in[r.RemoteAddr] = n.good(message, n.challenge[r.RemoteAddr])
		delete(n.challenge, r.RemoteAddr)
	}
	if !n.in[r.RemoteAddr] {
		n.refuse(w, "")
		return
	}
	_, _ = io.WriteString(w, "content")
}

func (n *ntlmServer) refuse(w http.ResponseWriter, token string) {
	if token != "" && n.garbage != "" {
		token = n.garbage
	}
	w.Header().Set("WWW-Authenticate", n.scheme+token)
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, strings.Repeat("access denied ", 500))
}

// targetInfo: domain CORP, then the end (section 2.2.2.1).
func targetInfo() []byte {
	name := utf16le("CORP")
	b := binary.LittleEndian.AppendUint16(nil, 2)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	return append(append(b, name...), 0, 0, 0, 0)
}

// challengeMessage is section 2.2.1.2's.
func challengeMessage(server []byte) []byte {
	const unicode, targetInfoFlag, ntlm, extended = 0x1, 0x800000, 0x200, 0x80000
	name, info := utf16le("CORP"), targetInfo()
	b := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
	field := func(length, offset int) {
		b = binary.LittleEndian.AppendUint16(b, uint16(length))
		b = binary.LittleEndian.AppendUint16(b, uint16(length))
		b = binary.LittleEndian.AppendUint32(b, uint32(offset))
	}
	field(len(name), 48)
	b = binary.LittleEndian.AppendUint32(b, unicode|targetInfoFlag|ntlm|extended)
	b = append(append(b, server...), make([]byte, 8)...)
	field(len(info), 48+len(name))
	return append(append(b, name...), info...)
}

// good checks an AUTHENTICATE message, section 2.2.1.3 and 3.3.2.
func (n *ntlmServer) good(m, server []byte) bool {
	field := func(at int) []byte {
		length, offset := int(binary.LittleEndian.Uint16(m[at:])), int(binary.LittleEndian.Uint32(m[at+4:]))
		return m[offset : offset+length]
	}
	mac := func(key []byte, parts ...[]byte) []byte {
		h := hmac.New(md5.New, key)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	response, domain, user := field(20), field(28), field(36)
	hash, _ := hex.DecodeString(n.ntHash)
	key := mac(hash, utf16le("ROBOT"), domain)
	switch {
	case server == nil:
		n.reason = "no challenge on this connection"
	case !bytes.Equal(user, utf16le("robot")) || !bytes.Equal(domain, utf16le("CORP")):
		n.reason = "another user"
	case len(response) < 44 || !bytes.Equal(response[:16], mac(key, server, response[16:])):
		n.reason = "the response does not fit the challenge"
	case !bytes.Contains(response[44:], targetInfo()):
		n.reason = "the target's information is not in the response"
	default:
		return true
	}
	return false
}

// The password of MS-NLMP section 4.2.1, with its NT hash from section 4.2.2.1.2.
const (
	ntlmPassword = "Password"
	ntlmHash     = "a4f49c406510bdcab6824ee7c30fd852"
)

func startNTLM(t *testing.T, scheme string) (*ntlmServer, *httptest.Server) {
	n := &ntlmServer{scheme: scheme, ntHash: ntlmHash, challenge: map[string][]byte{}, in: map[string]bool{}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, server
}

func ntlmCrawl(t *testing.T, origin, password string, do auth.Do, paths ...string) (*crawl, *logs) {
	l := &logs{}
	c := newCrawl(newSession(t, auth.Settings{Name: "iis", Origins: []string{origin}, Do: do, Logger: l.logger()},
		auth.NTLM{Username: `CORP\robot`, Password: secret.New(password), Workstation: "CRAWLER"}))
	c.pause = func(bool) {}
	c.all(t, origin, paths, 10)
	noSecret(t, l.String()+everything(c.waits), password)
	return c, l
}

func freshTransport(t *testing.T) *http.Transport {
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func TestNTLM(t *testing.T) {
	for _, scheme := range []string{"NTLM", "Negotiate"} {
		n, server := startNTLM(t, scheme)
		c, _ := ntlmCrawl(t, server.URL, ntlmPassword, transportDo(freshTransport(t)), "/a", "/b", "/c")
		if len(c.result) != 3 || c.result[server.URL+"/a"] != 200 {
			t.Errorf("%s: %v, words %q, the server says %q", scheme, c.result, c.waits, n.reason)
		}
		want := []string{"/a 0", "/a 1", "/a 3", "/b 0", "/c 0"}
		if d := cmp.Diff(want, n.requests); d != "" || c.requests != 3 {
			t.Errorf("%s: the handshake counts as one, so 3 requests, not %d (-want +got):\n%s", scheme, c.requests, d)
		}
	}
}

func TestNTLMWrongPassword(t *testing.T) {
	n, server := startNTLM(t, "NTLM")
	c, _ := ntlmCrawl(t, server.URL, "not the passw0rd", transportDo(freshTransport(t)), "/a", "/b")
	if len(c.result) > 0 || !strings.Contains(fmt.Sprint(c.waits), "iis: the credentials are refused: status 401, the server offers ntlm") {
		t.Errorf("%v, words %q", c.result, c.waits)
	}
	if len(n.requests) != 3 || n.reason != "the response does not fit the challenge" {
		t.Errorf("the server saw %q and says %q: a wrong password must go out once", n.requests, n.reason)
	}
}

// A transport that dials again for each request, and one whose server ends the
// connection: the handshake cannot work, and says so, without sending its last
// message to a connection that has not asked for it.
func TestNTLMNeedsOneConnection(t *testing.T) {
	for name, change := range map[string]func(*ntlmServer, *http.Transport){
		"no keep-alive": func(_ *ntlmServer, tr *http.Transport) { tr.DisableKeepAlives = true },
		"server closes": func(n *ntlmServer, _ *http.Transport) { n.close = true },
	} {
		n, server := startNTLM(t, "NTLM")
		tr := freshTransport(t)
		change(n, tr)
		c, _ := ntlmCrawl(t, server.URL, ntlmPassword, transportDo(tr), "/a")
		if len(c.result) > 0 || !strings.Contains(fmt.Sprint(c.waits), "did not stay on one connection") {
			t.Errorf("%s: %v, words %q", name, c.result, c.waits)
		}
		server.Close() // all requests are served
		if n.reason != "" {
			t.Errorf("%s: the server met a message: %s", name, n.reason)
		}
	}
}

func TestNTLMGarbage(t *testing.T) {
	for _, garbage := range []string{
		" ", " !!!", " AAAA", " " + base64.StdEncoding.EncodeToString([]byte("NTLMSSP\x00\x02\x00\x00\x00")),
		" " + base64.StdEncoding.EncodeToString(append(challengeMessage(make([]byte, 8))[:40], bytes.Repeat([]byte{255}, 60)...)),
	} {
		n, server := startNTLM(t, "NTLM")
		n.garbage = garbage
		c, _ := ntlmCrawl(t, server.URL, ntlmPassword, transportDo(freshTransport(t)), "/a")
		if len(c.result) > 0 || len(c.waits) == 0 {
			t.Errorf("%q: %v, words %q", garbage, c.result, c.waits)
		}
	}
}

// Many workers on connections of their own: each handshake stays on its connection.
func TestNTLMConcurrently(t *testing.T) {
	n, server := startNTLM(t, "NTLM")
	s := newSession(t, auth.Settings{Origins: []string{server.URL}, Do: transportDo(freshTransport(t))},
		auth.NTLM{Username: `CORP\robot`, Password: secret.New(ntlmPassword)})
	var wg sync.WaitGroup
	for i := range 8 {
		u := parse(t, fmt.Sprint(server.URL, "/", i))
		wg.Go(func() {
			for done := false; !done; {
				step := s.Step(u)
				if step.Action == auth.Proceed {
					response, err := fetch(t.Context(), u, step.Do)
					done = step.Judge(response, err).Action == auth.Proceed
					if done && (err != nil || response.Status != 200) {
						t.Errorf("%v: %v %v", u, response, err)
					}
				}
				step.End()
			}
		})
	}
	wg.Wait()
	if n.reason != "" {
		t.Error(n.reason)
	}
}

func TestNTLMOverHTTP2(t *testing.T) {
	do := inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "NTLM")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	c, _ := ntlmCrawl(t, origin, ntlmPassword, func(ctx context.Context, req *http.Request) (*http.Response, error) {
		resp, err := do(ctx, req)
		resp.ProtoMajor = 2
		return resp, err
	}, "/a")
	if !strings.Contains(fmt.Sprint(c.waits), "NTLM needs HTTP/1.1") {
		t.Errorf("words %q", c.waits)
	}
}
