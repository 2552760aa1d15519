package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// status returns an answer with a short body and further headers.
func status(code int, headers string) behaviour {
	return text(fmt.Sprintf("HTTP/1.1 %d X\r\n%sContent-Length: 2\r\n\r\nok", code, headers))
}

// http1 returns those that speak HTTP/1.1 over plain TCP, or should.
func http1() map[string]behaviour {
	all := map[string]behaviour{
		// Waiting.
		"no header":          stall,
		"half a header":      then("HTTP/1.1 200 OK\r\nContent-Ty", stall),
		"half a body":        then(okHead+"Content-Length: 100\r\n\r\nsome", stall),
		"half a coded body":  then(okHead+"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08", stall),
		"trickling body":     then(okHead+"\r\n", trickle),
		"trickling header":   then("HTTP/1.1 200 OK\r\nX: ", trickle),
		"chunk that waits":   then(okHead+"Transfer-Encoding: chunked\r\n\r\n4\r\nso", stall),
		"100 and no more":    then("HTTP/1.1 100 Continue\r\n\r\n", stall),
		"half close":         func(c net.Conn) { closeWrite(c); stall(c) },
		"half close in body": then(okHead+"Content-Length: 100\r\n\r\nsome", func(c net.Conn) { closeWrite(c); stall(c) }),

		// Without end.
		"endless body":             endless(okHead+"\r\n", "junk "),
		"endless chunks":           endless(okHead+"Transfer-Encoding: chunked\r\n\r\n", "4\r\njunk\r\n"),
		"endless chunk extension":  endless(okHead+"Transfer-Encoding: chunked\r\n\r\n4;x=", "junk"),
		"endless empty extensions": endless(okHead+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 1000)+"\r\nj\r\n"),
		"endless headers":          endless("HTTP/1.1 200 OK\r\n", "X-Junk: junk junk junk\r\n"),
		"endless header line":      endless("HTTP/1.1 200 OK\r\nX: ", "junk"),
		"endless status line":      endless("HTTP/1.1 200 ", "junk"),
		"endless 1xx":              endless("", "HTTP/1.1 102 Processing\r\n\r\n"),
		"endless 103":              endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"),
		"endless trailers":         endless(okHead+"Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n4\r\nsome\r\n0\r\n", "X: junk junk junk\r\n"),
		"bytes after the body":     endless(okHead+"Content-Length: 2\r\n\r\nok", "junk"),

		// Cut off.
		"closes at once":      func(net.Conn) {},
		"resets at once":      reset,
		"reset in the header": then("HTTP/1.1 200 OK\r\nContent-Ty", reset),
		"close in the header": text("HTTP/1.1 200 OK\r\nContent-Ty"),
		"close in the status": text("HTT"),
		"reset in the body":   then(okHead+"Content-Length: 100\r\n\r\nsome", reset),
		"short body":          text(okHead + "Content-Length: 100\r\n\r\nsome"),
		"short of 10 TB":      text(okHead + "Content-Length: 10995116277760\r\n\r\nsome"),
		"no last chunk":       text(okHead + "Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n"),
		"half a chunk":        text(okHead + "Transfer-Encoding: chunked\r\n\r\n8\r\nsome"),
		"long body":           text(okHead + "Content-Length: 2\r\n\r\nok and more"),

		// No HTTP.
		"garbage":                     text("what do you want?\r\n\r\n"),
		"zeros":                       endless("", "\x00\x00\x00\x00"),
		"garbage status":              text("HTTP/1.1 abc OK\r\n\r\n"),
		"no colon":                    text("HTTP/1.1 200 OK\r\nno colon here\r\n\r\n"),
		"NUL in a header":             text("HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 2\r\n\r\nok"),
		"space in a name":             text("HTTP/1.1 200 OK\r\nX Y: z\r\nContent-Length: 2\r\n\r\nok"),
		"empty header name":           text("HTTP/1.1 200 OK\r\n: z\r\nContent-Length: 2\r\n\r\nok"),
		"folded header":               text("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 2\r\n\r\nok"),
		"line feeds only":             text("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 2\n\nok"),
		"HTTP/0.9":                    text("<title>old</title>ok"),
		"HTTP/1.0":                    text("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nok"),
		"HTTP/3.7":                    text("HTTP/3.7 200 OK\r\nContent-Length: 2\r\n\r\nok"),
		"two lengths":                 text(okHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nok"),
		"the same length twice":       text(okHead + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok"),
		"negative length":             text(okHead + "Content-Length: -1\r\n\r\nok"),
		"length that overflows":       text(okHead + "Content-Length: 99999999999999999999\r\n\r\nok"),
		"length and chunks":           text(okHead + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n0\r\n\r\n"),
		"unknown transfer coding":     text(okHead + "Transfer-Encoding: rot13\r\n\r\nok"),
		"bad chunk length":            text(okHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\nsome\r\n"),
		"chunk length that overflows": text(okHead + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nsome\r\n"),
		"no line end after a chunk":   text(okHead + "Transfer-Encoding: chunked\r\n\r\n4\r\nsomeXX0\r\n\r\n"),
		"trailers":                    text(okHead + "Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\nok\r\n0\r\nX-A: b\r\n\r\n"),

		// Codings.
		"truncated gzip":       text(okHead + "Content-Encoding: gzip\r\n\r\n" + string(zipped(numbers)[:1000])),
		"corrupt gzip":         text(okHead + "Content-Encoding: gzip\r\n\r\nthis is no zip"),
		"gzip bomb":            coded("gzip", bomb("gzip")),
		"br bomb":              coded("br", bomb("br")),
		"zstd bomb":            coded("zstd", bomb("zstd")),
		"gzip in gzip bomb":    coded("gzip, gzip", zipped(string(bomb("gzip")))),
		"zstd of 2 GiB window": coded("zstd", []byte("\x28\xb5\x2f\xfd\x00\xa8\x00\x00\x00")),
		"three codings":        coded("gzip, gzip, gzip", []byte("ok")),
		"unknown coding":       coded("rot13", []byte("ok")),
		"coding of nothing":    coded("gzip", nil),
		"no gzip though said":  coded("gzip", []byte("<title>plain</title>")),
		"wrong charset":        text("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=klingon\r\nContent-Length: 2\r\n\r\nok"),
		"garbage charset":      text("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=\"\r\nContent-Length: 2\r\n\r\nok"),

		// Statuses.
		"204 with a body":           text("HTTP/1.1 204 No Content\r\n\r\nok"),
		"205":                       text("HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"),
		"206 unasked":               status(206, "Content-Range: bytes 0-1/100\r\n"),
		"304 unasked":               text("HTTP/1.1 304 Not Modified\r\n\r\n"),
		"101 unasked":               text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
		"empty 200":                 text(okHead + "Content-Length: 0\r\n\r\n"),
		"status 999":                status(999, ""),
		"status 000":                status(0, ""),
		"status 99999":              status(99999, ""),
		"status 600":                status(600, ""),
		"400":                       status(400, ""),
		"403":                       status(403, ""),
		"404":                       status(404, ""),
		"404 with a bad body":       text("HTTP/1.1 404 Not Found\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nsome"),
		"407 of a host":             status(407, "Proxy-Authenticate: Basic\r\n"),
		"408":                       status(408, ""),
		"410":                       status(410, ""),
		"425":                       status(425, ""),
		"429":                       status(429, ""),
		"500":                       status(500, ""),
		"500 without end":           endless("HTTP/1.1 500 Oops\r\n\r\n", "sorry "),
		"502":                       status(502, ""),
		"503":                       status(503, ""),
		"503 for 7 seconds":         status(503, "Retry-After: 7\r\n"),
		"503 until a date":          status(503, "Retry-After: Fri, 31 Dec 2088 23:59:59 GMT\r\n"),
		"503 for ever":              status(503, "Retry-After: 99999999999999999999999999\r\n"),
		"503 until nonsense":        status(503, "Retry-After: soon\r\n"),
		"503 for less than nothing": status(503, "Retry-After: -1\r\n"),
		"503 since long ago":        status(503, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
		"504":                       status(504, ""),
		"401 for ever":              status(401, "WWW-Authenticate: Basic realm=\"x\"\r\n"),
		"401 of nonsense":           status(401, "WWW-Authenticate: ,,=\"\r\n"),

		// Redirects.
		"redirect to itself":     status(302, "Location: /\r\n"),
		"redirect to a file":     status(302, "Location: file:///etc/passwd\r\n"),
		"redirect to nonsense":   status(302, "Location: http://%zz:x/\r\n"),
		"redirect to javascript": status(301, "Location: javascript:alert(1)\r\n"),
		"redirect to 10 KiB":     status(301, "Location: /"+strings.Repeat("x", 10<<10)+"\r\n"),
		"redirect to nowhere":    status(301, ""),
		"redirect to empty":      status(301, "Location: \r\n"),
		"redirect to metadata":   status(302, "Location: http://169.254.169.254/latest/\r\n"),
		"redirect with user":     status(302, "Location: http://u:p@/\r\n"),
		"300 without choice":     status(300, ""),
		"305 to a proxy":         status(305, "Location: http://127.0.0.1:1/\r\n"),

		// Headers.
		"cookie of 100 KiB": text(okHead + "Set-Cookie: a=" + strings.Repeat("x", 100<<10) + "\r\nContent-Length: 2\r\n\r\nok"),
		"1,000 cookies":     text(okHead + strings.Repeat("Set-Cookie: a=b\r\n", 1000) + "Content-Length: 2\r\n\r\nok"),
		"ETag of 100 KiB":   text(okHead + "ETag: \"" + strings.Repeat("x", 100<<10) + "\"\r\nContent-Length: 2\r\n\r\nok"),
		"header of 1 MiB":   text(okHead + "X: " + strings.Repeat("x", 1<<20) + "\r\nContent-Length: 2\r\n\r\nok"),
		"10,000 headers":    text(okHead + strings.Repeat("X-Y: z\r\n", 10_000) + "Content-Length: 2\r\n\r\nok"),
		"type of nonsense":  text("HTTP/1.1 200 OK\r\nContent-Type: ;;=/\r\nContent-Length: 2\r\n\r\nok"),
	}
	return all
}

// unread returns those that read no request.
func unread() map[string]behaviour {
	return map[string]behaviour{
		"answer before the request": then("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok", stall),
		"hangs up without reading":  func(net.Conn) {},
		"resets without reading":    reset,
		"reads nothing":             func(c net.Conn) { _, _ = c.Read(make([]byte, 1)); stall(c) },
	}
}

// numbers is a text that cannot be made short.
var numbers = func() string {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprint(&b, i*i*7919, " ")
	}
	return b.String()
}()

func trickle(c net.Conn) {
	var err error
	for err == nil {
		_, err = io.WriteString(c, "x")
		pause()
	}
}

func closeWrite(c net.Conn) {
	if b, ok := c.(buffered); ok {
		c = b.Conn
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

func coded(coding string, body []byte) behaviour {
	return text(fmt.Sprintf("%sContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", okHead, coding, len(body), body))
}

func zipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

// bombBytes are what a bomb becomes.
const bombBytes = 64 << 20

func bomb(coding string) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriterLevel(&b, brotli.BestSpeed)
	default:
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)) // the options are good
	}
	block := make([]byte, 1<<20)
	for range bombBytes / len(block) {
		_, _ = w.Write(block)
	}
	_ = w.Close()
	return b.Bytes()
}
