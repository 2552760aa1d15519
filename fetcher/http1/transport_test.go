package http1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const page = ok + "Content-Length: 4\r\n\r\nbody"

// server says what its script says at each connection, in order; a connection beyond the script
// answers each request with a page.
type server struct {
	mu       sync.Mutex
	script   []func(c net.Conn, r *bufio.Reader)
	dialled  int
	requests int
	serving  sync.WaitGroup
}

// read waits for a request.
func (s *server) read(r *bufio.Reader) bool {
	if _, err := http.ReadRequest(r); err != nil {
		return false
	}
	s.mu.Lock()
	s.requests++
	s.mu.Unlock()
	return true
}

func (s *server) serve(c net.Conn, n int) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	if n < len(s.script) {
		s.script[n](c, r)
		return
	}
	for s.read(r) {
		_, _ = io.WriteString(c, page)
	}
}

// dial connects to the server in memory.
func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	client, other := net.Pipe()
	s.mu.Lock()
	n := s.dialled
	s.dialled++
	s.mu.Unlock()
	s.serving.Go(func() { s.serve(other, n) })
	return client, nil
}

// says answers each request with the next text, and closes.
func (s *server) says(texts ...string) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, r *bufio.Reader) {
		for _, text := range texts {
			if !s.read(r) {
				return
			}
			_, _ = io.WriteString(c, text)
		}
	}
}

// get makes a request and reads all of its answer.
func get(ctx context.Context, t *Transport, host string) (string, error) {
	a, err := t.Get(ctx, &Request{Host: host, Target: "/", Until: time.Now().Add(time.Hour)})
	if err != nil {
		return "", err
	}
	defer a.Close()
	b, err := io.ReadAll(a)
	return string(b), err
}

// idle is how many connections wait, and how many hosts are known.
func (t *Transport) idles() (conns, hosts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle, len(t.hosts)
}

func (t *Transport) knows(host string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hosts[host] != nil
}

// TestKept: a connection takes request after request, up to what ends it. A server that closes it just when it is used
// again is asked once more, unless it had begun to answer.
func TestKept(t *testing.T) {
	tests := []struct {
		name     string
		script   func(s *server) []func(net.Conn, *bufio.Reader)
		second   string // error of the second request
		dialled  int
		requests int
	}{
		{"kept", nil, "", 1, 3},
		{"closed between two requests", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says(page)}
		}, "", 2, 3},
		{"closed when it is used again", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says(page, "")}
		}, "", 2, 4},
		{"closed when it is used again, and the new one, too", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says(page, ""), s.says("")}
		}, "unexpected EOF", 3, 4},
		{"closed inside the second answer", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says(page, "H")}
		}, "unexpected EOF", 2, 3},
		{"more than the answer", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says(page+page, page)}
		}, "", 2, 3},
		{"close is said", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says(ok+"Content-Length: 4\r\nConnection: close\r\n\r\nbody", page)}
		}, "", 2, 3},
		{"HTTP/1.0", func(s *server) []func(net.Conn, *bufio.Reader) {
			return []func(net.Conn, *bufio.Reader){s.says("HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody", page)}
		}, "", 2, 3},
		{"chunks", func(s *server) []func(net.Conn, *bufio.Reader) {
			chunks := ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
			return []func(net.Conn, *bufio.Reader){s.says(chunks, chunks, chunks)}
		}, "", 1, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				if tt.script != nil {
					s.script = tt.script(s)
				}
				tr := New(settings(s.dial))
				for i := range 3 {
					got, err := get(t.Context(), tr, "a.test")
					synctest.Wait()
					switch {
					case i == 1 && tt.second != "":
						if err == nil || err.Error() != tt.second {
							t.Errorf("the second: %q, %v, want %q", got, err, tt.second)
						}
					case err != nil || got != "body":
						t.Errorf("request %d: %q, %v", i, got, err)
					}
				}
				tr.CloseIdle()
				s.serving.Wait()
				if s.dialled != tt.dialled || s.requests != tt.requests {
					t.Errorf("%d connections, %d requests; want %d and %d", s.dialled, s.requests, tt.dialled, tt.requests)
				}
			})
		})
	}
}

// TestTimes: each limit of time ends the request that it is for, and no other.
func TestTimes(t *testing.T) {
	slowly := func(s *server, head string, pieces int, each string) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, r *bufio.Reader) {
			s.says(head)(c, r)
			for range pieces {
				time.Sleep(20 * time.Second)
				if _, err := io.WriteString(c, each); err != nil {
					return
				}
			}
			_, _ = io.Copy(io.Discard, c)
		}
	}
	tests := []struct {
		name    string
		script  func(s *server) func(net.Conn, *bufio.Reader)
		want    error
		after   time.Duration
		changed func(*Settings)
	}{
		{"no header", func(s *server) func(net.Conn, *bufio.Reader) { return slowly(s, "", 0, "") }, ErrHeader, 30 * time.Second, nil},
		{"drips its header", func(s *server) func(net.Conn, *bufio.Reader) { return slowly(s, ok, 9, "X: y\r\n") }, ErrHeader, 30 * time.Second, nil},
		{"drips interim answers", func(s *server) func(net.Conn, *bufio.Reader) {
			return slowly(s, "", 9, "HTTP/1.1 102 Processing\r\n\r\n")
		}, ErrHeader, 30 * time.Second, nil},
		{"drips its body", func(s *server) func(net.Conn, *bufio.Reader) {
			return slowly(s, ok+"Content-Length: 9\r\n\r\n", 9, "x")
		}, nil, 9 * 20 * time.Second, nil},
		{"stalls in its body", func(s *server) func(net.Conn, *bufio.Reader) {
			return slowly(s, ok+"Content-Length: 9\r\n\r\n", 3, "x")
		}, ErrIdle, (3*20 + 25) * time.Second, nil},
		{"drips for ever", func(s *server) func(net.Conn, *bufio.Reader) { return slowly(s, ok+"\r\n", 1000, "x") }, ErrDownload, time.Hour, nil},
		{"header later than the download", func(s *server) func(net.Conn, *bufio.Reader) { return slowly(s, "", 0, "") }, ErrDownload, time.Hour, func(s *Settings) {
			s.HeaderTimeout = 2 * time.Hour
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				s.script = []func(net.Conn, *bufio.Reader){tt.script(s)}
				set := settings(s.dial)
				set.HeaderTimeout, set.BodyTimeout = 30*time.Second, 25*time.Second
				if tt.changed != nil {
					tt.changed(&set)
				}
				tr := New(set)
				start := time.Now()
				_, err := get(t.Context(), tr, "a.test")
				if !errors.Is(err, tt.want) || time.Since(start) != tt.after {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), tt.want, tt.after)
				}
				tr.CloseIdle()
				s.serving.Wait()
				if conns, hosts := tr.idles(); conns != 0 || hosts != 0 {
					t.Errorf("%d connections, %d hosts are left", conns, hosts)
				}
			})
		})
	}
}

// TestCancel: a context that ends ends its request, wherever that is, and its connection.
func TestCancel(t *testing.T) {
	stall := func(_ net.Conn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) }
	for name, script := range map[string]func(s *server) func(net.Conn, *bufio.Reader){
		"dialling": nil,
		"header":   func(*server) func(net.Conn, *bufio.Reader) { return stall },
		"body": func(s *server) func(net.Conn, *bufio.Reader) {
			return func(c net.Conn, r *bufio.Reader) {
				s.says(ok+"Content-Length: 9\r\n\r\nsome")(c, r)
				stall(c, r)
			}
		},
		"read, not closed": func(s *server) func(net.Conn, *bufio.Reader) { return s.says(page, page) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dial := &server{}, func(ctx context.Context, _, _ string) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				if script != nil {
					s.script, dial = []func(net.Conn, *bufio.Reader){script(s)}, s.dial
				}
				tr := New(settings(dial))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				var got string
				var err error
				var a *Answer
				go func() {
					defer close(ended)
					if a, err = tr.Get(ctx, &Request{Host: "a.test", Target: "/", Until: time.Now().Add(time.Hour)}); err == nil {
						var b []byte
						b, err = io.ReadAll(a)
						got = string(b)
					}
				}()
				synctest.Wait()
				cancel()
				<-ended
				if whole := got == "body"; whole != (name == "read, not closed") || whole != (err == nil) {
					t.Errorf("%q, %v", got, err)
				}
				if a == nil && !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
				if a != nil {
					a.Close()
				}
				s.serving.Wait() // it sees the end
				if conns, hosts := tr.idles(); conns != 0 || hosts != 0 {
					t.Errorf("%d connections, %d hosts are left", conns, hosts)
				}
			})
		})
	}
}

// TestSeats: no more connections to a host than are allowed; who waits for one is served, or ends by its own limit.
func TestSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		set := settings(s.dial)
		set.MaxPerHost = 1
		tr := New(set)
		first, err := tr.Get(t.Context(), &Request{Host: "a.test", Target: "/", Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tr.Get(t.Context(), &Request{Host: "a.test", Target: "/", Until: time.Now().Add(time.Minute)})
		if !errors.Is(err, ErrDownload) {
			t.Errorf("got %v, want %v", err, ErrDownload)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := get(ctx, tr, "a.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		if _, err := get(t.Context(), tr, "b.test"); err != nil {
			t.Errorf("another host waits: %v", err)
		}
		var waiting sync.WaitGroup
		for range 5 {
			waiting.Go(func() {
				if got, err := get(t.Context(), tr, "a.test"); err != nil || got != "body" {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		synctest.Wait()
		if _, err := io.ReadAll(first); err != nil {
			t.Error(err)
		}
		first.Close()
		first.Close() // again: nothing happens
		waiting.Wait()
		if s.dialled != 2 {
			t.Errorf("%d connections, want one to each host", s.dialled)
		}
		tr.CloseIdle()
		s.serving.Wait()
		if conns, hosts := tr.idles(); conns != 0 || hosts != 0 {
			t.Errorf("%d connections, %d hosts are left", conns, hosts)
		}
	})
}

// TestIdle: the connections that wait are bounded, in number and in time, and what waited longest goes first.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		set := settings(s.dial)
		set.MaxIdle, set.IdleTime = 3, time.Minute
		tr := New(set)
		hosts := []string{"a.test", "b.test", "c.test", "d.test"}
		for _, host := range hosts {
			if _, err := get(t.Context(), tr, host); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		if conns, known := tr.idles(); conns != 3 || known != 3 || tr.knows("a.test") {
			t.Errorf("%d connections to %d hosts, want 3 to all but the oldest", conns, known)
		}
		time.Sleep(35 * time.Second) // b waits 65 s by now, c 55
		synctest.Wait()
		if conns, _ := tr.idles(); conns != 2 || tr.knows("b.test") {
			t.Errorf("%d connections, want 2, without that of b.test", conns)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if conns, known := tr.idles(); conns != 0 || known != 0 {
			t.Errorf("%d connections, %d hosts are left", conns, known)
		}
		used, err := tr.Get(t.Context(), &Request{Host: "a.test", Target: "/", Until: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		tr.CloseIdle()
		if _, err := io.ReadAll(used); err != nil {
			t.Error(err)
		}
		used.Close()
		if conns, known := tr.idles(); conns != 0 || known != 0 {
			t.Errorf("after CloseIdle %d connections, %d hosts are left", conns, known)
		}
		s.serving.Wait()
	})
}

// TestRequest: what goes out.
func TestRequest(t *testing.T) {
	r := Request{Host: "a.test:8080", Target: "//x?y", Header: []byte("A: b\r\nC: d\r\n"), Fields: [2]Field{{"If-None-Match", ""}, {"If-Modified-Since", "then"}}}
	const want = "GET //x?y HTTP/1.1\r\nHost: a.test:8080\r\nA: b\r\nC: d\r\nIf-Modified-Since: then\r\n\r\n"
	if got := string(r.append(nil)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for target, want := range map[string]bool{"/": true, "/a%20b?c": true, "": false, "a": false, "/a b": false, "/a\r\nX: y": false, "/\x7f": false} {
		if Sendable(target) != want {
			t.Errorf("Sendable(%q) is not %v", target, want)
		}
	}
	for host, want := range map[string]bool{"a.test": true, "a.test:1": true, "[::1]:80": true, "": false, "a b": false, "A.test": false, "[fe80::1%25eth0]": false, "a\r\n": false} {
		if SendableHost(host) != want {
			t.Errorf("SendableHost(%q) is not %v", host, want)
		}
	}
	for host, want := range map[string]string{"a.test": "a.test:80", "a.test:1": "a.test:1", "[::1]": "[::1]:80", "[::1]:8": "[::1]:8"} {
		if got := address(host); got != want {
			t.Errorf("%s is dialled at %s, want %s", host, got, want)
		}
	}
}

// TestAllocations: a request by a kept connection allocates an Answer, its header, and little else.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("memory is measured without the race detector")
	}
	text := ok + "Content-Type: text/html\r\nETag: \"x\"\r\nDate: now\r\nContent-Length: 4096\r\n\r\n" + strings.Repeat("x", 4096)
	c := &canned{data: []byte(text), piece: 1 << 20}
	tr := New(settings(func(context.Context, string, string) (net.Conn, error) { return c, nil }))
	defer tr.CloseIdle()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body := make([]byte, 4096)
	r := Request{Host: "a.test", Target: "/", Until: time.Now().Add(time.Hour)}
	got := testing.AllocsPerRun(100, func() {
		c.at = 0
		a, err := tr.Get(ctx, &r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(a, body); err != nil {
			t.Fatal(err)
		}
		a.Close()
	})
	if got > 9 {
		t.Errorf("%v allocations, want at most 9", got)
	}
}
