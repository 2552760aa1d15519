package http1

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// canned is a connection on which data comes in pieces, and then its end.
type canned struct {
	net.Conn
	data  []byte
	piece int
	at    int
}

func (c *canned) Read(p []byte) (int, error) {
	if c.at == len(c.data) {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.data[c.at:])
	c.at += n
	return n, nil
}

func (*canned) Write(p []byte) (int, error)     { return len(p), nil }
func (*canned) SetDeadline(time.Time) error     { return nil }
func (*canned) SetReadDeadline(time.Time) error { return nil }
func (*canned) RemoteAddr() net.Addr            { return nil }
func (*canned) Close() error                    { return nil }

func settings(dial func(context.Context, string, string) (net.Conn, error)) Settings {
	return Settings{
		Dial: dial, HeaderTimeout: time.Minute, BodyTimeout: time.Minute, MaxHeaderBytes: 256 << 10,
		MaxPerHost: 6, MaxIdle: 1024, IdleTime: 90 * time.Second,
	}
}

// said is an answer as either client gives it.
type said struct {
	Refused bool // no header that can be read
	Status  int
	Header  http.Header
	Length  int64
	Body    string
	Broken  bool // the body ended too soon, or in nonsense
}

// read reads a body to its end.
func (s *said) read(r io.Reader) {
	b, err := io.ReadAll(r)
	s.Body, s.Broken = string(b), err != nil
}

// reference returns what net/http makes of data, how much of that it took, and whether more may follow by the
// connection.
func reference(data []byte) (s said, taken int, more bool) {
	source := bytes.NewReader(data)
	r := bufio.NewReaderSize(source, readerBytes)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return said{Refused: true}, 0, false
		}
		if resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		s = said{Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength}
		if resp.Body == http.NoBody {
			s.Length = 0
		}
		s.read(resp.Body)
		return s, len(data) - source.Len() - r.Buffered(), !s.Broken && !resp.Close && s.Status >= http.StatusOK
	}
}

func testAnswer(t *testing.T, data []byte, piece int) {
	t.Helper()
	c := &canned{data: data, piece: piece}
	tr := New(settings(func(context.Context, string, string) (net.Conn, error) { return c, nil }))
	defer tr.CloseIdle()
	want, taken, more := reference(data)
	var got said
	a, err := tr.Get(t.Context(), &Request{Host: "a.test", Target: "/", Until: time.Now().Add(time.Hour)})
	if err != nil {
		got.Refused = true
	} else {
		got = said{Status: a.Status, Header: a.Header, Length: a.Length}
		got.read(a)
		a.Close()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q in pieces of %d: %v (-net/http +http1):\n%s", data, piece, err, diff)
	}
	switch kept := tr.idle == 1; {
	case kept && !more:
		t.Errorf("%q in pieces of %d: the connection is kept", data, piece)
	case kept && c.at != taken:
		t.Errorf("%q in pieces of %d: the connection is kept, %d bytes of %d were the answer", data, piece, taken, c.at)
	case !kept && more && c.at == taken:
		t.Errorf("%q in pieces of %d: the connection is not kept", data, piece)
	}
}

const ok = "HTTP/1.1 200 OK\r\n"

// answers are of all kinds: such as they should be, such as they are, and what an attacker says.
var answers = []string{
	ok + "Content-Length: 4\r\n\r\nbody",
	ok + "Content-Length: 4\r\nConnection: keep-alive\r\nX: 1\r\nX: 2\r\nx: 3\r\n\r\nbody",
	ok + "Content-Length: 4\r\nConnection: close\r\n\r\nbody",
	ok + "Content-Length: 4\r\nConnection: Keep-Alive, Close\r\n\r\nbody",
	ok + "Content-Length: 0\r\n\r\n",
	ok + "Content-Length: 4\r\n\r\nbody and more",
	ok + "Content-Length: 40\r\n\r\nbody",
	ok + "\r\nto the end",
	ok + "Content-Length: 4\r\nPragma: no-cache\r\n\r\nbody",
	"HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\nETag: \"x\"\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
	"HTTP/1.1 304 Not Modified\r\nContent-Length: -4\r\n\r\n",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok + "Content-Length: 4\r\n\r\nbody",
	"HTTP/1.1 100 Continue\r\nContent-Length: 4\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nwhat?",
	"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n",
	// chunks
	ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n4;a=b\r\nbody\r\n0\r\nSum: 1\r\n\r\nHTTP/1.1 200",
	ok + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\nContent-Length: 1\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\n\r\n4\nbody\n0\n\n",
	ok + "Transfer-Encoding: chunked\r\n\r\n-4\r\nbody\r\n0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\n\r\n0x4\r\nbody\r\n0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nbody",
	ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nbodyXX0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n",
	ok + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nno trailer",
	ok + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
	ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
	ok + "Transfer-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbody",
	ok + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	ok + "Transfer-Encoding:\x0bchunked\r\nContent-Length: 4\r\n\r\nbody",
	// lengths
	ok + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody",
	ok + "Content-Length: 4\r\nContent-Length: 3\r\n\r\nbody",
	ok + "Content-Length: 4, 4\r\n\r\nbody",
	ok + "Content-Length: -4\r\n\r\nbody",
	ok + "Content-Length: +4\r\n\r\nbody",
	ok + "Content-Length: 0x4\r\n\r\nbody",
	ok + "Content-Length: 4 \t\r\n\r\nbody",
	ok + "Content-Length: 004\r\n\r\nbody",
	ok + "Content-Length:\r\n\r\nbody",
	ok + "Content-Length: four\r\n\r\nbody",
	ok + "Content-Length: 99999999999999999999\r\n\r\nbody",
	ok + "Content-Length: 9223372036854775807\r\n\r\nbody",
	// lines
	"HTTP/1.1 200 OK\nContent-Length: 4\n\nbody",
	"HTTP/1.1 204 No Content\n\n",
	ok + "Content-Length: 4\r\nX: a\n\r\nbody",
	ok + "X: a\r\n\tb\r\nContent-Length: 4\r\n\r\nbody",
	ok + " X: a\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X: a\rY: b\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X: a\x00b\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X: \xe4\xff\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X : a\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X\r\nContent-Length: 4\r\n\r\nbody",
	ok + ": a\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X\xe4: a\r\nContent-Length: 4\r\n\r\nbody",
	ok + "x-FORWARDED_for!: a\r\nX: \t a b \t\r\nEmpty:\r\nContent-Length: 4\r\n\r\nbody",
	ok + "X: " + strings.Repeat("long ", 2000) + "\r\nContent-Length: 4\r\n\r\nbody",
	ok + strings.Repeat("X: a\r\n", 600) + "Content-Length: 4\r\n\r\nbody",
	ok + "X: a",
	// status lines
	"", "\r\n", "HTTP/1.1", "HTTP/1.1 \r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
	"HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1\t200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200\tOK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.11 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n",
	"http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", " HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "ICY 200 OK\r\n\r\n",
	"HTTP/1.1 200 OK\x00\r\nContent-Length: 0\r\n\r\n", "<html>what do you want?</html>", "HTTP/1.1 200 OK\r\r\nContent-Length: 0\r\n\r\n",
}

// TestAnswers: whatever a server says, in whatever pieces it comes, is what net/http makes of it, and a
// connection is used again only where the answer has an end and is at it.
func TestAnswers(t *testing.T) {
	for _, s := range answers {
		for _, piece := range []int{1, 7, 1 << 20} {
			testAnswer(t, []byte(s), piece)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range answers {
		f.Add([]byte(s), uint16(1<<15))
		f.Add([]byte(s), uint16(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint16) {
		if len(data) <= 32<<10 {
			testAnswer(t, data, max(1, int(piece)))
		}
	})
}
