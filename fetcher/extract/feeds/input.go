package feeds

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// input is a file for the scanner: decompressed, limited, in UTF-8.
type input struct {
	*bufio.Reader
	limit *limited
}

// open opens a file as received.
func open(r io.Reader, o Options) (input, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	var plain io.Reader = b
	if magic, _ := b.Peek(2); isGzip(magic) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return input{}, &SyntaxError{Line: 1, Column: 1, Words: "it begins like gzip, but is none: " + err.Error()}
		}
		z.Multistream(false)
		plain = &members{z: z, r: b}
	}
	bounded := &limited{r: plain, left: o.MaxBytes, endless: o.MaxBytes <= 0, cut: o.Truncated}
	b = bufio.NewReaderSize(bounded, 64<<10)
	if e := encodingOf(b, o.ContentType); e != nil {
		b = bufio.NewReaderSize(e.NewDecoder().Reader(b), 64<<10)
	}
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		_, _ = b.Discard(3) // they are buffered
	}
	return input{b, bounded}, nil
}

func isGzip(magic []byte) bool { return len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b }

// members reads the members of a gzip file one after the other (RFC 1952 section 2.2) and ends when something else
// follows one.
type members struct {
	z *gzip.Reader
	r *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if magic, _ := m.r.Peek(2); !isGzip(magic) {
		return n, io.EOF
	}
	if err := m.z.Reset(m.r); err != nil {
		return n, err
	}
	m.z.Multistream(false)
	return n, nil
}

// limited ends a file after a number of bytes.
type limited struct {
	r       io.Reader
	left    int64
	endless bool
	cut     bool
}

func (l *limited) Read(p []byte) (int, error) {
	if l.endless {
		return l.r.Read(p)
	}
	if l.left <= 0 {
		var one [1]byte
		if n, err := l.r.Read(one[:]); n == 0 {
			return 0, err
		}
		l.cut = true
		return 0, io.EOF
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// encodingOf returns the encoding of a file, nil if it is UTF-8: by its byte order mark, its XML declaration, or the
// header of its response.
func encodingOf(b *bufio.Reader, contentType string) encoding.Encoding {
	head, _ := b.Peek(1024)
	switch {
	case bytes.HasPrefix(head, []byte("\ufeff")):
		return nil
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{'<', 0}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), bytes.HasPrefix(head, []byte{0, '<'}):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	label, declared := declaredEncoding(head)
	if !declared {
		if _, params, err := mime.ParseMediaType(contentType); err == nil {
			label = params["charset"]
		}
	}
	e, name := charset.Lookup(label)
	if e == nil || name == "utf-8" || name == "utf-16le" || name == "utf-16be" { // UTF-16 files begin differently
		return nil
	}
	return e
}

// declaredEncoding returns the encoding in an XML declaration.
func declaredEncoding(head []byte) (string, bool) {
	head = bytes.TrimLeft(head, " \t\r\n")
	if !bytes.HasPrefix(head, []byte("<?xml")) {
		return "", false
	}
	declaration, _, _ := bytes.Cut(head, []byte("?>"))
	_, value, ok := bytes.Cut(declaration, []byte("encoding"))
	value = bytes.TrimLeft(value, " \t\r\n=")
	if !ok || len(value) == 0 || value[0] != '"' && value[0] != '\'' {
		return "", false
	}
	label, _, _ := bytes.Cut(value[1:], value[:1])
	return string(label), true
}
