package fetcher

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	acceptEncoding = "gzip, deflate, br, zstd"
	// maxCodings is the most nested codings; one is usual.
	maxCodings = 2
	// zstdWindow is the largest window of zstd over HTTP (RFC 9659).
	zstdWindow = 8 << 20
)

// contentCodings returns the codings of a body in the order of their application,
// in lower case (RFC 9110 section 8.4).
func contentCodings(h http.Header) []string {
	values := h["Content-Encoding"]
	if len(values) == 0 {
		return nil
	}
	var codings []string
	for _, value := range values {
		for c := range strings.SplitSeq(value, ",") {
			if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
				codings = append(codings, c)
			}
		}
	}
	return codings
}

// decoders keeps decoders for reuse. A decoder holds at most its window, whatever its input: 32 KiB (gzip, deflate), 16
// MiB (br), 8 MiB (zstd).
type decoders struct{ buffers, gzips, brotlis, zstds sync.Pool }

// open wraps r in decoders for codings. An empty body is empty under any coding. release returns the decoders to the
// pool; it is never nil.
func (d *decoders) open(ctx context.Context, codings []string, r io.Reader) (decoded io.Reader, release func(), err error) {
	var opened []func()
	release = func() {
		for _, f := range opened {
			f()
		}
	}
	if len(codings) > maxCodings {
		return nil, release, fmt.Errorf("Content-Encoding has %d codings, and at most %d are supported", len(codings), maxCodings)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		buffered := d.buffered(r)
		opened = append(opened, func() { buffered.Reset(nil); d.buffers.Put(buffered) })
		if _, err := buffered.Peek(1); err == io.EOF {
			return buffered, release, nil
		} else if err != nil {
			return nil, release, err
		}
		stage, done, err := d.stage(codings[i], buffered)
		if err != nil {
			return nil, release, coded(codings[i], err)
		}
		opened = append(opened, done)
		r = &codingReader{ctx: ctx, coding: codings[i], r: stage}
	}
	return r, release, nil
}

func (d *decoders) buffered(r io.Reader) *bufio.Reader {
	if b, ok := d.buffers.Get().(*bufio.Reader); ok {
		b.Reset(r)
		return b
	}
	return bufio.NewReaderSize(r, 8<<10)
}

func (d *decoders) stage(coding string, r *bufio.Reader) (io.Reader, func(), error) {
	switch coding {
	case "gzip", "x-gzip":
		return d.gzip(r)
	case "deflate":
		return inflate(r)
	case "br":
		z, ok := d.brotlis.Get().(*brotli.Reader)
		if !ok {
			z = new(brotli.Reader)
		}
		if err := z.Reset(r); err != nil {
			return nil, nil, err
		}
		return z, func() { d.brotlis.Put(z) }, nil
	case "zstd":
		return d.zstd(r)
	}
	return nil, nil, errors.New("unknown content coding; gzip, deflate, br and zstd are supported")
}

func (d *decoders) gzip(r *bufio.Reader) (io.Reader, func(), error) {
	z, ok := d.gzips.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	if err := z.Reset(r); err != nil {
		return nil, nil, err
	}
	z.Multistream(false)
	return &gzipMembers{z: z, r: r}, func() { d.gzips.Put(z) }, nil
}

func (d *decoders) zstd(r *bufio.Reader) (io.Reader, func(), error) {
	z, ok := d.zstds.Get().(*zstd.Decoder)
	if !ok {
		var err error
		// Concurrency 1 decodes in the reader's own goroutine.
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, err
		}
	}
	if err := z.Reset(r); err != nil {
		return nil, nil, err
	}
	return z, func() {
		if z.Reset(nil) == nil {
			d.zstds.Put(z)
		}
	}, nil
}

// inflate reads the zlib format, which "deflate" stands for, and the raw one that many servers send under this name.
func inflate(r *bufio.Reader) (io.Reader, func(), error) {
	head, _ := r.Peek(2)
	if len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		z, err := zlib.NewReader(r)
		return z, func() {}, err
	}
	return flate.NewReader(r), func() {}, nil
}

// gzipMembers reads the members of a gzip file one after the other (RFC 1952 section 2.2) and ends, as browsers do,
// when something else follows a member.
type gzipMembers struct {
	z *gzip.Reader
	r *bufio.Reader
}

func (g *gzipMembers) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if magic, _ := g.r.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return n, io.EOF
	}
	if err := g.z.Reset(g.r); err != nil {
		return n, err
	}
	g.z.Multistream(false)
	return n, nil
}

// codingReader adds the coding's name to errors, and stops a decoding that takes long without producing bytes.
type codingReader struct {
	ctx    context.Context
	coding string
	r      io.Reader
}

func (c *codingReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = coded(c.coding, err)
	}
	return n, err
}

func coded(coding string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // within a coding's own header
	}
	return fmt.Errorf("Content-Encoding %q: %w", coding, err)
}
