package office

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/richardlehane/mscfb"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

const (
	// maxStreams bounds the streams of a compound file.
	maxStreams = 10_000
	// compoundSector is the longest sector: a file may end within its last one.
	compoundSector = 4096
)

// compoundFile is the magic of MS-CFB files: old binary formats, and the envelope of encrypted new ones.
var compoundFile = []byte{0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1}

// IsCompound reports whether a body begins as a compound file (MS-CFB).
func IsCompound(body []byte) bool { return bytes.HasPrefix(body, compoundFile) }

// compound is a compound file (MS-CFB): the streams of its root, by name in lower case. Storages contain embedded
// documents, which are not read.
type compound struct {
	streams map[string]*mscfb.File
	size    int
}

// openCompound reads the directory of a file.
func openCompound(body []byte) (*compound, error) {
	if !IsCompound(body) {
		return nil, errors.New("it does not begin like a compound file")
	}
	padded := make([]byte, (len(body)+2*compoundSector-1)/compoundSector*compoundSector)
	copy(padded, body)
	r, err := mscfb.New(bytes.NewReader(padded))
	if err != nil {
		return nil, err
	}
	c := &compound{streams: map[string]*mscfb.File{}, size: len(body)}
	for _, f := range r.File[:min(len(r.File), maxStreams)] {
		name := strings.ToLower(f.Name)
		if len(f.Path) == 0 && f.Size > 0 && c.streams[name] == nil {
			c.streams[name] = f
		}
	}
	return c, nil
}

// stream returns the readable content of a stream, nil if there is none.
func (c *compound) stream(name string) []byte {
	f := c.streams[strings.ToLower(name)]
	if f == nil {
		return nil
	}
	// A stream is no longer than its file, whatever the directory states. An unreadable rest is left out: the formats
	// have separate lengths.
	all, _ := io.ReadAll(io.LimitReader(f, int64(c.size)))
	return all
}

var errNoStream = errors.New("it has no stream of a document")

// readCompound reads a document of Office 97 to 2003 by its actual format, which may differ from the declared one.
func readCompound(r *legacyReader, format Format, body []byte) error {
	c, err := openCompound(body)
	if err != nil {
		return fmt.Errorf("compound file: %w", err)
	}
	if c.streams["encryptedpackage"] != nil {
		return extract.ErrEncrypted
	}
	summary(c, r.b)
	for _, f := range []Format{format, DOC, XLS, PPT} {
		switch {
		case f == DOC && c.streams["worddocument"] != nil:
			return r.doc(c)
		case f == XLS && (c.streams["workbook"] != nil || c.streams["book"] != nil):
			return r.xls(c)
		case f == PPT && c.streams["powerpoint document"] != nil:
			return r.ppt(c)
		}
	}
	return errNoStream
}

// le16 and le32 read a number at a position, 0 beyond the end: positions in hostile files are arbitrary.
func le16(b []byte, at int) int {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return int(b[at]) | int(b[at+1])<<8
}

func le32(b []byte, at int) uint32 {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
}

// part returns a part of a stream, limited to its length.
func part(b []byte, from, length int64) []byte {
	if from < 0 || length <= 0 || from >= int64(len(b)) {
		return nil
	}
	return b[from:min(from+length, int64(len(b)))]
}
