package fetcher

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// TestJudge: address rules come before the built-in guard. A host is forbidden
// only if they forbid all its addresses; one that others leave unreachable, or that
// the guard refuses, is told apart.
func TestJudge(t *testing.T) { onBoth(t, testJudge) }

func testJudge(t *testing.T, newFetcher maker) {
	asked := 0
	addr := serve(t, func(http.ResponseWriter, *http.Request) { asked++ })
	_, port, _ := net.SplitHostPort(addr)
	names := zone{
		"forbidden.test": {"127.0.0.9"},
		"none.test":      {"127.0.0.9", "127.0.0.8"},
		"one.test":       {"127.0.0.9", "127.0.0.1"},
		"allowed.test":   {"127.0.0.1"},
		"guarded.test":   {"127.0.0.9", "127.0.0.3"},
		"metadata.test":  {"169.254.169.254"},
		"mapped.test":    {"::ffff:127.0.0.9"},
	}
	var judged []netip.Addr
	f := newFetcher(t, func(s *Settings) {
		s.Resolver = names.resolver()
		s.Judge = func(a netip.Addr) (allowed, matched bool, words string) {
			judged = append(judged, a)
			switch a.Unmap().String() {
			case "127.0.0.9", "127.0.0.8":
				return false, true, "rule 9"
			case "127.0.0.1", "169.254.169.254":
				return true, true, "rule 1"
			}
			return true, false, ""
		}
	}, "exempt.test:"+port)
	get := func(host, port string) (*Response, error) {
		return f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+host+":"+port+"/")})
	}
	for _, host := range []string{"one.test", "allowed.test", "127.0.0.1"} {
		if resp, err := get(host, port); err != nil || resp.Address.String() != "127.0.0.1" {
			t.Errorf("%s: got %+v, %v; want the address that is allowed", host, resp, err)
		}
	}
	if asked != 3 {
		t.Errorf("the server was asked %d times, want 3", asked)
	}
	for host, want := range map[string]fault.Fault{
		"forbidden.test": fault.AddressForbidden,
		"none.test":      fault.AddressForbidden,
		"mapped.test":    fault.AddressForbidden,
		"guarded.test":   fault.Address,
		"metadata.test":  fault.Address,
		"127.0.0.9":      fault.AddressForbidden,
	} {
		resp, err := get(host, port)
		wantFault(t, resp, err, want)
		if want == fault.AddressForbidden && !strings.Contains(err.Error(), "rule 9") {
			t.Errorf("%s: %v, want the rule named", host, err)
		}
	}
	// Nobody listens at port 1 of the address that is allowed.
	resp, err := get("one.test", "1")
	wantFault(t, resp, err, fault.Refused)
	if len(judged) < 12 {
		t.Errorf("%d addresses were judged, want each that is dialled", len(judged))
	}
}

// TestRefuse: with true the body is not read, and the answer is one all the same.
func TestRefuse(t *testing.T) { onBoth(t, testRefuse) }

func testRefuse(t *testing.T, newFetcher maker) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<30)) // ends when the other side hangs up
	})
	f := newFetcher(t, func(s *Settings) { s.MaxBodyBytes = 1 << 31 }, addr)
	var status int
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/"), Refuse: func(s int, h http.Header) bool {
		status = s
		return h.Get("Content-Type") == "video/mp4"
	}})
	if err != nil || !resp.Refused || resp.Body != nil || status != 200 || resp.Status != 200 {
		t.Errorf("got %+v, %v; want a refused answer without a body", resp, err)
	}
	resp, err = f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/"), MaxBodyBytes: 10, Refuse: func(int, http.Header) bool { return false }})
	if err != nil || resp.Refused || len(resp.Body) != 10 {
		t.Errorf("got %+v, %v; want the body as usual", resp, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
