package crawlspace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
)

// version changes when the meaning of unchanged settings changes.
const version = "crawlspace 1"

// digest hashes lists of texts; different lists have different hashes.
type digest struct{ hash.Hash }

func (d digest) list(name string, texts ...string) {
	d.text(name)
	d.text(strconv.Itoa(len(texts)))
	for _, t := range texts {
		d.text(t)
	}
}

func (d digest) text(s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	d.Write(n[:])
	d.Write([]byte(s))
}

// reasons hashes the rules of a map, in the order of its keys.
func (d digest) reasons(name string, m map[string]Reason) {
	d.list(name, slices.Sorted(maps.Keys(m))...)
}

func (d digest) patterns(name string, entries []entry) {
	d.list(name)
	for _, e := range entries {
		d.text(e.reason.Rule)
	}
}

// hash returns the fingerprint.
func (s *Space) hash() string {
	d := digest{sha256.New()}
	d.list(version, strconv.FormatBool(s.settings.FoldHost))
	if q := s.names.query; q != nil {
		d.list("query", slices.Sorted(maps.Keys(q.keep))...)
	}
	if f := s.names.options.Fingerprint(); f != "" {
		d.list("canonical", f)
	}
	for _, g := range s.gates {
		switch g := g.(type) {
		case *startGate:
			d.list("start", g.reason.Rule)
			for _, site := range slices.SortedFunc(maps.Keys(g.sites), site.compare) {
				d.list("site", site.scheme, site.host)
			}
		case *patternGate:
			d.patterns(string(g.missing.Gate), g.list.entries)
		case *extensionGate:
			d.reasons("extensions", g.ignored)
		case *depthGate:
			d.list("depth", g.reason.Rule)
		}
	}
	for _, g := range []*domainGate{s.domain, s.global} {
		d.list("domain")
		for i := range g.size() {
			d.text(g.rules[i].reason.Rule)
		}
	}
	d.list("prefix")
	if s.prefix != nil {
		for _, r := range s.prefix.rules {
			d.text(r.reason.Rule)
		}
	}
	d.list("address")
	for _, r := range s.addresses.rules {
		d.text(r.reason.Rule)
	}
	d.list("mime", strconv.FormatBool(s.mime.include))
	d.reasons("listed", s.mime.listed)
	d.reasons("belong", s.mime.ignored)
	d.reasons("kill", s.kill.exact)
	d.patterns("kill", s.kill.patterns.entries)
	return hex.EncodeToString(d.Sum(nil)[:16])
}
