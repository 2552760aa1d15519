package visit

import (
	"hash"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/minio/highwayhash"

	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/push"
)

// HashKey is the secret under which a store's documents are hashed. It is known only here, so that no site can make two
// documents that look equal.
type HashKey [highwayhash.Size]byte

// aliasMeta has the URLs that redirect to a document.
const aliasMeta = "alias"

// hasher hashes documents by HighwayHash with 128 bits, a keyed hash that is several times as fast as SHA-256. Its
// methods may be called concurrently.
type hasher struct{ free sync.Pool }

func newHasher(key HashKey) *hasher {
	return &hasher{free: sync.Pool{New: func() any {
		h, err := highwayhash.New128(key[:])
		if err != nil {
			panic(err) // a key of the right length is always taken
		}
		return &textHash{Hash: h}
	}}}
}

// document returns the hash of a document's content: title, text, metas, content type, language and source, but not
// times, referrers or markup; also the bytes of a body without a reader. Aliases change only its last
// copies.AliasBytes: with another alias a document is pushed again, and stays a copy of what it was a copy of.
func (r *hasher) document(d *push.Document, unread []byte) [16]byte {
	h := r.free.Get().(*textHash)
	defer r.free.Put(h)
	h.Reset()
	// Each list begins with its length, so that no value of one meta passes for the name of another.
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(d.Metas)), func(name string) bool { return name == aliasMeta })
	policy.HashParts(h, d.Title, d.Text, d.ContentType, d.Language, d.Source, strconv.Itoa(len(names)))
	for _, name := range names {
		policy.HashParts(h, name, strconv.Itoa(len(d.Metas[name])))
		policy.HashParts(h, d.Metas[name]...)
	}
	h.Write(unread)
	sum := [16]byte(h.Sum(nil))
	if aliases := d.Metas[aliasMeta]; len(aliases) > 0 {
		h.Reset()
		policy.HashParts(h, aliases...)
		of := h.Sum(nil)
		for i := len(sum) - copies.AliasBytes; i < len(sum); i++ {
			sum[i] ^= of[i]
		}
	}
	return sum
}

// textHash takes strings without a copy as long as they are.
type textHash struct {
	hash.Hash
	part [1024]byte
}

// WriteString implements io.StringWriter.
func (h *textHash) WriteString(s string) (int, error) {
	for rest := s; rest != ""; {
		n := copy(h.part[:], rest)
		h.Write(h.part[:n])
		rest = rest[n:]
	}
	return len(s), nil
}
