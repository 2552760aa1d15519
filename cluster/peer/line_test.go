package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// echo answers by the question.
func echo(most int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, err := Question(w, r, most)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = w.Write(b)
	}
}

func closing(t *testing.T, l *Lines) *Lines {
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Ask(context.Background(), "127.0.0.1:1", "/", nil, 1); err == nil {
			t.Error("a node is asked after Close")
		}
	})
	return l
}

// TestLinesAreKept: questions one after the other go over one connection; one that the other node closed meanwhile costs
// nothing but a new one.
func TestLinesAreKept(t *testing.T) {
	var dials atomic.Int32
	var last net.Conn
	client := &Client{Token: token(t, secret), Dial: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		dials.Add(1)
		last, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return last, err
	}}
	l := closing(t, &Lines{Client: client})
	address := serve(t, echo(1<<20))
	ask := func(question string) {
		t.Helper()
		got, err := l.Ask(t.Context(), address, "/", []byte(question), 1<<20)
		if err != nil || string(got) != question {
			t.Fatalf("%d bytes, %v; want %d", len(got), err, len(question))
		}
	}
	for i := range 20 {
		ask(strings.Repeat("x", i*5000))
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	ask("again")
	if n := dials.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// TestLinesWantProof: a node without the token, or without an answer that bears the proof, is not believed, and not asked again on
// that connection.
func TestLinesWantProof(t *testing.T) {
	address := serve(t, echo(10))
	l := closing(t, &Lines{Client: &Client{Token: token(t, "another token of thirty-two chars")}})
	for range 2 {
		if _, err := l.Ask(t.Context(), address, "/", []byte("x"), 10); !errors.Is(err, ErrProof) {
			t.Errorf("%v, want %v", err, ErrProof)
		}
	}
	if len(l.idle[address]) > 0 {
		t.Error("a connection is kept that proved nothing")
	}
}

// TestHugeQuestions: neither end reads more than it wants.
func TestHugeQuestions(t *testing.T) {
	l := closing(t, &Lines{Client: &Client{Token: token(t, secret)}})
	if got, err := l.Ask(t.Context(), serve(t, echo(1000)), "/", make([]byte, 1<<20), 1<<21); err == nil {
		t.Errorf("a question that is too long is answered by %d bytes", len(got))
	}
	if got, err := l.Ask(t.Context(), serve(t, echo(1<<20)), "/", make([]byte, 1<<20), 1000); err == nil || len(got) > 1001 {
		t.Errorf("an answer that is too long: %d bytes, %v", len(got), err)
	}
}

// TestDrippingAnswer: a node that answers byte after byte is given up in the time of a question, all bytes together.
func TestDrippingAnswer(t *testing.T) {
	inTime(t, drip, func(t *testing.T, c *Client) {
		begun := time.Now()
		l := &Lines{Client: c}
		if got, err := l.Ask(t.Context(), "n1:1", "/", nil, 1<<20); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != silence {
			t.Errorf("%d bytes, %v after %v; want to end after %v", len(got), err, time.Since(begun), silence)
		}
	})
}

// TestFrozenNode: one that takes a question and never answers is given up, once, on a connection that was kept too.
func TestFrozenNode(t *testing.T) {
	frozen := false
	inTime(t, func(w http.ResponseWriter, _ *http.Request) {
		if frozen {
			time.Sleep(time.Hour)
		}
		_, _ = w.Write([]byte("x"))
	}, func(t *testing.T, c *Client) {
		l := &Lines{Client: c}
		if _, err := l.Ask(t.Context(), "n1:1", "/", nil, 10); err != nil {
			t.Fatal(err)
		}
		frozen = true
		begun := time.Now()
		if _, err := l.Ask(t.Context(), "n1:1", "/", nil, 10); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != silence {
			t.Errorf("%v after %v, want %v", err, time.Since(begun), silence)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestDrippingQuestion: a node that asks byte after byte does not hold up who answers.
func TestDrippingQuestion(t *testing.T) {
	type end struct {
		after time.Duration
		err   error
	}
	ended := make(chan end, 1)
	inTime(t, func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		_, err := Question(w, r, 1<<20)
		ended <- end{time.Since(begun), err}
	}, func(t *testing.T, c *Client) {
		conn, err := c.connect(t.Context(), "n1:1")
		if err != nil {
			t.Fatal(err)
		}
		state := conn.ConnectionState()
		proof, err := c.Token.proof(&state, asks)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: n1\r\n%s: %s\r\nContent-Length: 1000\r\n\r\n", header, proof); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }() // until it is closed
		for range 20 {
			if _, err := io.WriteString(conn, "x"); err != nil {
				break
			}
			time.Sleep(7 * time.Second)
		}
		select {
		case e := <-ended:
			if e.after != silence || !errors.Is(e.err, os.ErrDeadlineExceeded) {
				t.Errorf("given up after %v: %v", e.after, e.err)
			}
		default:
			t.Error("it is waited for still")
		}
		_ = conn.Close()
	})
}
