package http1

import (
	"bufio"
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// Sendable reports whether a target may be sent as written.
func Sendable(target string) bool {
	for i := range len(target) {
		if c := target[i]; c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(target) > 0 && target[0] == '/'
}

// SendableHost reports whether a host, with its port if any, is in the required form: lower-case ASCII, an IPv6 address
// without a zone.
func SendableHost(host string) bool {
	for i := range len(host) {
		if classes[host[i]]&inHost == 0 {
			return false
		}
	}
	return host != ""
}

// Classes of bytes.
const (
	inName = 1 << iota
	inValue
	inHost
)

var classes = func() (t [256]byte) {
	for c := range t {
		if c >= ' ' && c != 0x7f || c == '\t' {
			t[c] |= inValue
		}
	}
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, c := range []byte(token) {
		t[c] |= inName
	}
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") {
		t[c] |= inHost
	}
	return t
}()

// readPlain is readHeader for a header that is buffered completely and has the simplest form: HTTP/1.1, no interim
// response, correct line ends, one decimal length. It returns false for any other, without consuming it.
func (a *Answer) readPlain(r *bufio.Reader) bool {
	if _, err := r.Peek(1); err != nil {
		return false
	}
	b, _ := r.Peek(r.Buffered())
	n := bytes.Index(b, []byte("\r\n\r\n"))
	if n < 0 || !a.parse(string(b[:n+2])) {
		return false
	}
	_, err := r.Discard(n + 4)
	return err == nil
}

// parse parses a status line and the lines of the header.
func (a *Answer) parse(text string) bool {
	const version = "HTTP/1.1 "
	if len(text) < len(version)+5 || text[:len(version)] != version {
		return false
	}
	line, rest, _ := strings.Cut(text[len(version):], "\r\n")
	status, ok := digits(line[:min(3, len(line))])
	if !ok || status < http.StatusOK || len(line) < 3 || len(line) > 3 && line[3] != ' ' || !isValue(line) {
		return false
	}
	values := make([]string, strings.Count(rest, "\n"))
	header, length := make(http.Header, len(values)), int64(-1)
	for i := 0; rest != ""; i++ {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, ok := field(line)
		if !ok {
			return false
		}
		switch name {
		case "Pragma", "Trailer", "Transfer-Encoding":
			return false
		case "Connection":
			if value != "keep-alive" && value != "Keep-Alive" {
				return false
			}
		case "Content-Length":
			if length, ok = digits(value); !ok || header[name] != nil {
				return false
			}
		}
		if earlier := header[name]; earlier != nil {
			header[name] = append(earlier, value)
			continue
		}
		values[i] = value
		header[name] = values[i : i+1 : i+1]
	}
	switch {
	case status == http.StatusNoContent || status == http.StatusNotModified:
		length = 0
	case length < 0:
		return false
	}
	a.Status, a.Header, a.Length, a.left, a.end = int(status), header, length, length, length == 0
	return true
}

// field parses a header line.
func field(line string) (name, value string, ok bool) {
	n := 0
	for n < len(line) && classes[line[n]]&inName != 0 {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' || !isValue(line[n+1:]) {
		return "", "", false
	}
	return textproto.CanonicalMIMEHeaderKey(line[:n]), strings.Trim(line[n+1:], " \t"), true
}

func isValue(s string) bool {
	for i := range len(s) {
		if classes[s[i]]&inValue == 0 {
			return false
		}
	}
	return true
}

// digits parses a number that consists of digits only.
func digits(s string) (int64, bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
