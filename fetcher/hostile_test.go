package fetcher

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestMain(m *testing.M) {
	// net reads resolv.conf once, and keeps a channel with it that must be of no
	// bubble of a test.
	nowhere := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no DNS here") }}
	_, _ = nowhere.LookupHost(context.Background(), "localhost")
	goleak.VerifyTestMain(m)
}

// short are time-outs that a test can wait for; the others stay long, so that a
// test meets the one it means.
const short = 50 * time.Millisecond

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newFetcher(t *testing.T, change func(*Settings), exempt ...string) *Fetcher {
	t.Helper()
	s := DefaultSettings()
	s.Exempt = exempt
	if change != nil {
		change(&s)
	}
	f := New(s, slog.New(slog.DiscardHandler))
	t.Cleanup(f.Close)
	return f
}

// maker makes the Fetcher of a test, which Close ends.
type maker func(t *testing.T, change func(*Settings), exempt ...string) *Fetcher

// onBoth runs a test with a Fetcher as it is, and with one that makes all requests by net/http.
func onBoth(t *testing.T, test func(t *testing.T, newFetcher maker)) {
	t.Run("http1", func(t *testing.T) { test(t, newFetcher) })
	t.Run("net-http", func(t *testing.T) {
		test(t, func(t *testing.T, change func(*Settings), exempt ...string) *Fetcher {
			f := newFetcher(t, change, exempt...)
			f.plain = nil
			return f
		})
	})
}

// listen serves each connection with serve, and waits at the end of the test
// until all are served.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conns := make(chan struct{}, 1000)
		n := 0
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			n++
			go func() {
				defer func() { conns <- struct{}{} }()
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
		for range n {
			<-conns
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

func readRequest(c net.Conn) *http.Request {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return nil
	}
	return r
}

// stall waits until the other end hangs up.
func stall(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// answer reads a request and writes text.
func answer(text string) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) != nil {
			_, _ = io.WriteString(c, text)
		}
	}
}

// endlessly writes head and then text again and again.
func endlessly(head, text string) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) == nil {
			return
		}
		_, err := io.WriteString(c, head)
		block := strings.Repeat(text, 1+4096/len(text))
		for err == nil {
			_, err = io.WriteString(c, block)
		}
	}
}

// reset makes the close to come a reset.
func reset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func TestHostileServers(t *testing.T) { onBoth(t, testHostileServers) }

func testHostileServers(t *testing.T, newFetcher maker) {
	firstByte := func(s *Settings) { s.FirstByteTimeout = short }
	idle := func(s *Settings) { s.IdleTimeout = short }
	download := func(s *Settings) { s.DownloadTimeout = 2 * short }
	tests := []struct {
		name   string
		serve  func(net.Conn)
		change func(*Settings)
		want   fault.Fault
		says   string // in the error
	}{
		{"stalls before the header", stall, firstByte, fault.Timeout, "timeout awaiting response headers"},
		{"stalls before the header, whole download", stall, download, fault.Timeout, "timeout of the whole download"},
		{"stalls inside the header", func(c net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Ty")(c)
			stall(c)
		}, firstByte, fault.Timeout, ""},
		{"stalls inside the body", func(c net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome")(c)
			stall(c)
		}, idle, fault.Timeout, "timeout awaiting the next byte of the body"},
		{"stalls inside a coded body", func(c net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08")(c)
			stall(c)
		}, idle, fault.Timeout, "timeout awaiting the next byte of the body"},
		{"trickles for ever", func(c net.Conn) {
			if readRequest(c) == nil {
				return
			}
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			for err == nil {
				_, err = io.WriteString(c, "x")
				time.Sleep(time.Millisecond)
			}
		}, download, fault.Timeout, "timeout of the whole download"},
		{"endless header", endlessly("HTTP/1.1 200 OK\r\n", "X-Junk: junk junk junk\r\n"), nil, fault.Protocol, "headers exceeded"},
		{"endless header line", endlessly("HTTP/1.1 200 OK\r\nX: ", "junk"), nil, fault.Protocol, ""},
		{"flood of 1xx", endlessly("", "HTTP/1.1 102 Processing\r\n\r\n"), nil, fault.Protocol, ""},
		{"resets before the header", func(c net.Conn) { readRequest(c); reset(c) }, nil, fault.Reset, "reset"},
		{"closes before the header", func(c net.Conn) { readRequest(c) }, nil, fault.Reset, "EOF"},
		{"closes inside the header", answer("HTTP/1.1 200 OK\r\nContent-Le"), nil, fault.Reset, ""},
		{"closes inside the status line", answer("HTT"), nil, fault.Reset, ""},
		{"resets inside the body", func(c net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome")(c)
			reset(c)
		}, nil, fault.Reset, ""},
		{"short body", answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"), nil, fault.ShortBody, ""},
		{"short body without declared size in memory", answer("HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\nsome"), nil, fault.ShortBody, ""},
		{"no last chunk", answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n"), nil, fault.ShortBody, ""},
		{"bad chunk", answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nsome\r\n"), nil, fault.Protocol, "chunk"},
		{"garbage", answer("what do you want?\r\n\r\n"), nil, fault.Protocol, "malformed"},
		{"garbage status", answer("HTTP/1.1 abc OK\r\n\r\n"), nil, fault.Protocol, "malformed"},
		{"garbage header", answer("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"), nil, fault.Protocol, "malformed"},
		{"two lengths", answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), nil, fault.Protocol, ""},
		{"unknown coding", answer("HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\nContent-Length: 2\r\n\r\nab"), nil, fault.Protocol, "rot13"},
		{"too many codings", answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip, gzip\r\n\r\nab"), nil, fault.Protocol, "3 codings"},
		{"corrupt gzip", answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 14\r\n\r\nthis is no zip"), nil, fault.Protocol, "gzip"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := listen(t, tt.serve)
			f := newFetcher(t, tt.change, addr)
			resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr+"/")})
			wantFault(t, resp, err, tt.want)
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
		})
	}
}

func wantFault(t *testing.T, resp *Response, err error, want fault.Fault) {
	t.Helper()
	var fe *Error
	if !errors.As(err, &fe) {
		t.Fatalf("got %+v, %v, want an *Error with fault %q", resp, err, want)
	}
	if fe.Fault != want {
		t.Fatalf("got fault %q (%v), want %q", fe.Fault, err, want)
	}
	if fe.URL == "" || !strings.HasPrefix(err.Error(), fe.URL) {
		t.Errorf("error %q does not begin with its URL", err)
	}
}

func TestRefused(t *testing.T) { onBoth(t, testRefused) }

func testRefused(t *testing.T, newFetcher maker) {
	addr := testport.Reserve(t)
	resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
	wantFault(t, resp, err, fault.Refused)
}

func TestConnectTimeout(t *testing.T) { onBoth(t, testConnectTimeout) }

func testConnectTimeout(t *testing.T, newFetcher maker) {
	// A DNS server that never answers is part of connecting, and DNS's fault.
	f := newFetcher(t, func(s *Settings) {
		s.ConnectTimeout = short
		s.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	})
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://slow.test/")})
	wantFault(t, resp, err, fault.DNSNoAnswer)
}

func TestContextEnds(t *testing.T) { onBoth(t, testContextEnds) }

func testContextEnds(t *testing.T, newFetcher maker) {
	arrived := make(chan struct{})
	addr := listen(t, func(c net.Conn) {
		readRequest(c)
		close(arrived)
		stall(c)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	resp, err := newFetcher(t, nil, addr).Fetch(ctx, Request{URL: mustURL(t, "http://"+addr)})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %+v, %v, want context.Canceled", resp, err)
	}
	var fe *Error
	if errors.As(err, &fe) {
		t.Errorf("a cancelled request is not the server's fault: %v", err)
	}
}

func TestErrorAnswerWithFaultyBody(t *testing.T) { onBoth(t, testErrorAnswerWithFaultyBody) }

func testErrorAnswerWithFaultyBody(t *testing.T, newFetcher maker) {
	for status, text := range map[int]string{
		301: "HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 100\r\n\r\nsome",
		404: "HTTP/1.1 404 Not Found\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nsome",
		503: "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\nzz",
	} {
		addr := listen(t, answer(text))
		resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
		if err != nil || resp.Status != status {
			t.Errorf("status %d: got %+v, %v", status, resp, err)
		}
	}
}

func TestLongErrorBodyIsCut(t *testing.T) { onBoth(t, testLongErrorBodyIsCut) }

func testLongErrorBodyIsCut(t *testing.T, newFetcher maker) {
	addr := listen(t, endlessly("HTTP/1.1 500 Oops\r\n\r\n", "sorry "))
	resp, err := newFetcher(t, nil, addr).Fetch(t.Context(), Request{URL: mustURL(t, "http://"+addr)})
	if err != nil || len(resp.Body) != errorBodyBytes || !resp.Truncated {
		t.Fatalf("got %d bytes, truncated %v, %v", len(resp.Body), resp.Truncated, err)
	}
}
