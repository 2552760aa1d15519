package console

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"time"
)

// newSecret returns an unpredictable word of 260 bits.
func newSecret() string { return rand.Text() + rand.Text() }

// expiring are values by the hashes of their secrets, each until its time ends. The owner of the map locks it.
type expiring[T any] map[[sha256.Size]byte]expires[T]

type expires[T any] struct {
	value T
	ends  time.Time
}

// add adds a value after it has removed those that ended; if most are left, the one that ends first makes room.
func (e expiring[T]) add(secret string, value T, lasts time.Duration, most int) {
	now := time.Now()
	maps.DeleteFunc(e, func(_ [sha256.Size]byte, one expires[T]) bool { return !one.ends.After(now) })
	if len(e) >= most {
		var first [sha256.Size]byte
		var ends time.Time
		for key, one := range e {
			if ends.IsZero() || one.ends.Before(ends) {
				first, ends = key, one.ends
			}
		}
		delete(e, first)
	}
	e[sha256.Sum256([]byte(secret))] = expires[T]{value, now.Add(lasts)}
}

// get returns the value of a secret whose time has not ended.
func (e expiring[T]) get(secret string) (value T, ok bool) {
	key := sha256.Sum256([]byte(secret))
	one := e[key]
	if !one.ends.After(time.Now()) {
		delete(e, key)
		return value, false
	}
	return one.value, true
}

// take returns what get does, once.
func (e expiring[T]) take(secret string) (T, bool) {
	defer delete(e, sha256.Sum256([]byte(secret)))
	return e.get(secret)
}
