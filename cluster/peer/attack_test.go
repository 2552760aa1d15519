package peer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// said sends a request with headers on a connection, and returns the status of the answer.
func said(t *testing.T, conn *tls.Conn, headers string) int {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", headers); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK && answer.Header.Get(header) != "" {
		t.Errorf("%d, with a proof", answer.StatusCode)
	}
	return answer.StatusCode
}

// TestReplay: a proof is of use on the connection that it was made for alone, and garbage is none.
func TestReplay(t *testing.T) {
	var answered atomic.Int32
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { answered.Add(1) })
	one, two := serve(t, h), serve(t, h)
	resumed := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	dial := func(address string) *tls.Conn {
		conn, err := tls.Dial("tcp", address, resumed)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	first := dial(one)
	state := first.ConnectionState()
	k := token(t, secret)
	good, err := k.proof(&state, asks)
	if err != nil {
		t.Fatal(err)
	}
	reflected, err := k.proof(&state, answers)
	if err != nil {
		t.Fatal(err)
	}
	show := func(proof string) string { return header + ": " + proof + "\r\n" }
	if got := said(t, first, show(good)); got != http.StatusOK {
		t.Fatalf("on its connection: %d", got)
	}
	again := dial(one)
	if !again.ConnectionState().DidResume {
		t.Error("the session is not resumed: the test shows less than it should")
	}
	for name, try := range map[string]struct {
		conn    *tls.Conn
		headers string
	}{
		"the same node again":    {again, show(good)},
		"another node":           {dial(two), show(good)},
		"the answer's proof":     {first, show(reflected)},
		"none":                   {first, ""},
		"an empty one":           {first, show("")},
		"garbage":                {first, show(strings.Repeat("A", len(good)))},
		"more than the proof":    {first, show(good + "A")},
		"a long one":             {first, show(strings.Repeat("A", 100_000))},
		"the good one as second": {first, show("A") + show(good)},
		"bytes that are no text": {first, show("\x80\xff")},
	} {
		if got := said(t, try.conn, try.headers); got != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, got)
		}
	}
	if n := answered.Load(); n != 1 {
		t.Errorf("%d were answered, want 1", n)
	}
}

// TestHugeAnswers: of a head, and of words, no more is read than they may be long.
func TestHugeAnswers(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/head" {
			w.Header().Set("X", huge[:900<<10])
			return
		}
		http.Error(w, huge, http.StatusConflict)
	}))
	c := &Client{Token: token(t, secret)}
	if _, err := read(t, c, address, "/head"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a huge head: %.200v, want that it is cut", err)
	}
	if _, err := read(t, c, address, "/words"); !errors.Is(err, ErrDeclined) || len(err.Error()) > 5<<10 {
		t.Errorf("huge words: %.200v", err)
	}
}

// inMemory is a node without a network, which synctest's clock can tell.
type inMemory struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *inMemory) Close() error   { close(l.closed); return nil }
func (l *inMemory) Addr() net.Addr { return &net.TCPAddr{} }

// inTime runs a test of a client and of a node that answers by h, with a clock of their own.
func inTime(t *testing.T, h http.HandlerFunc, test func(t *testing.T, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		config, err := ServerConfig()
		if err != nil {
			t.Fatal(err)
		}
		l := &inMemory{make(chan net.Conn), make(chan struct{})}
		s := &http.Server{Handler: Guard(token(t, secret), h), TLSConfig: config, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		ended := make(chan error, 1)
		go func() { ended <- s.ServeTLS(l, "", "") }()
		defer func() {
			time.Sleep(2 * time.Hour) // each handler ends
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		}()
		test(t, &Client{Token: token(t, secret), Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			l.conns <- far
			return near, nil
		}})
	})
}

// TestFrozenReader: a node that asks and then reads nothing is given up, so that nothing is kept for it for ever.
func TestFrozenReader(t *testing.T) {
	type end struct {
		after time.Duration
		err   error
	}
	given := make(chan end, 1)
	inTime(t, func(w http.ResponseWriter, _ *http.Request) {
		for begun := time.Now(); ; {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				given <- end{time.Since(begun), err}
				return
			}
		}
	}, func(t *testing.T, c *Client) {
		body, err := c.Get(t.Context(), "n1:1", "/")
		if err != nil {
			t.Fatal(err)
		}
		const goodbye = 5 * time.Second // crypto/tls tries to say that it closes
		time.Sleep(stalled + 2*goodbye)
		select {
		case e := <-given:
			if e.after < stalled || e.after > stalled+goodbye || !errors.Is(e.err, os.ErrDeadlineExceeded) {
				t.Errorf("given up after %v: %v", e.after, e.err)
			}
		default:
			t.Error("it is waited for still")
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// drip sends byte after byte, without end.
func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(7 * time.Second)
	}
}

// TestDrops: a node that sends byte after byte does not hold up who asked.
func TestDrops(t *testing.T) {
	inTime(t, drip, func(t *testing.T, c *Client) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		body, err := c.Get(ctx, "n1:1", "/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if after := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || after != silence {
			t.Errorf("%d bytes, %v after %v; want to end after %v", len(got), err, after, silence)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSlowButWell: both ends may take their time.
func TestSlowButWell(t *testing.T) {
	piece := bytes.Repeat([]byte("y"), 3*enough)
	inTime(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			time.Sleep(silence - time.Second)
			if _, err := w.Write(piece); err != nil {
				t.Error(err)
			}
		}
	}, func(t *testing.T, c *Client) {
		body, err := c.Get(t.Context(), "n1:1", "/")
		if err != nil {
			t.Fatal(err)
		}
		got, b := 0, make([]byte, enough)
		for {
			n, err := io.ReadFull(body, b)
			if got += n; err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("after %d bytes: %v", got, err)
			}
			time.Sleep(stalled/2 - time.Second) // a piece may span two reads
		}
		if got != 10*len(piece) {
			t.Errorf("%d bytes, want %d", got, 10*len(piece))
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestSilentNode: one that accepts and says nothing is not waited for for ever, before TLS and after it.
func TestSilentNode(t *testing.T) {
	inTime(t, func(http.ResponseWriter, *http.Request) { time.Sleep(time.Hour) }, func(t *testing.T, c *Client) {
		begun := time.Now()
		if _, err := c.Get(t.Context(), "n1:1", "/"); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != silence {
			t.Errorf("%v after %v, want %v", err, time.Since(begun), silence)
		}
		far := make(chan net.Conn, 1)
		mute := &Client{Token: c.Token, Dial: func(context.Context, string, string) (net.Conn, error) {
			a, b := net.Pipe()
			far <- b
			return a, nil
		}}
		begun = time.Now()
		if _, err := mute.Get(t.Context(), "n1:1", "/"); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != connectFor {
			t.Errorf("without TLS: %v after %v, want %v", err, time.Since(begun), connectFor)
		}
		if err := (<-far).Close(); err != nil {
			t.Error(err)
		}
	})
}
