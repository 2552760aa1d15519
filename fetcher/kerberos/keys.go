package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/sextant-crawler/sextant/internal/clock"
)

// maxFile is larger than any keytab or credential cache.
const maxFile = 16 << 20

// ciphers returns the requested types of encryption, in order of preference.
func ciphers() []int32 {
	return []int32{
		etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96,
		etypeID.AES256_CTS_HMAC_SHA384_192, etypeID.AES128_CTS_HMAC_SHA256_128, etypeID.RC4_HMAC,
	}
}

// Keytab holds keys of principals. It never prints them.
type Keytab struct{ keys *keytab.Keytab }

// ParseKeytab parses a keytab file as written by ktutil, kadmin and ktpass. The error shows nothing of its content.
func ParseKeytab(content []byte) (*Keytab, error) {
	k := keytab.New()
	err := errors.New("too large")
	if len(content) <= maxFile {
		err = decode(func() error { return k.Unmarshal(content) })
	}
	if err != nil || len(k.Entries) == 0 {
		return nil, errors.New("it is not a keytab, or is empty: create it with kadmin ktadd, ktutil or ktpass")
	}
	return &Keytab{k}, nil
}

// String returns the number of keys.
func (k *Keytab) String() string { return fmt.Sprintf("keytab of %d keys", len(k.keys.Entries)) }

// GoString returns String for %#v.
func (k *Keytab) GoString() string { return k.String() }

// principals returns the principals that the keytab has keys of, each once.
func (k *Keytab) principals() []string {
	var all []string
	for _, e := range k.keys.Entries {
		name := strings.Join(e.Principal.Components, "/") + "@" + e.Principal.Realm
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// ciphersOf returns the types of encryption of a principal's keys.
func (k *Keytab) ciphersOf(name types.PrincipalName, realm string) []int32 {
	var all []int32
	for _, c := range ciphers() {
		if _, _, err := k.keys.GetEncryptionKey(name, realm, 0, c); err == nil {
			all = append(all, c)
		}
	}
	return all
}

// cached returns a ticket-granting ticket from a credential cache.
func cached(content []byte) (name types.PrincipalName, realm string, t *ticket, err error) {
	var cache credentials.CCache
	t = &ticket{}
	err = decode(func() error {
		if len(content) > maxFile || !plausible(content) {
			return errors.New("malformed")
		}
		if err := cache.Unmarshal(content); err != nil {
			return err
		}
		name, realm = cache.GetClientPrincipalName(), cache.GetClientRealm()
		entry, ok := cache.GetEntry(grantingService(realm))
		if !ok {
			return nil
		}
		t.key, t.start, t.end = entry.Key, entry.AuthTime, entry.EndTime
		return t.ticket.Unmarshal(entry.Ticket)
	})
	switch {
	case err != nil:
		return name, realm, nil, errors.New("it is not a credential cache file: create it with kinit -c FILE:path")
	case t.end.IsZero():
		return name, realm, nil, fmt.Errorf("it contains no ticket-granting ticket of %s: run kinit", realm)
	case !time.Now().Before(t.end):
		return name, realm, nil, fmt.Errorf("its ticket expired at %s: run kinit, or let k5start renew it", clock.Stamp(t.end))
	}
	return name, realm, t, nil
}

// plausible reports whether the lengths in a credential cache of version 3 or 4 fit its size, so that the library
// allocates no more memory than the file has bytes.
func plausible(b []byte) bool {
	if len(b) < 4 || b[0] != 5 || b[1] != 4 && b[1] != 3 {
		return false
	}
	w := walk{b: b[2:]}
	if b[1] == 4 {
		w.skip(int(w.number(2)))
	}
	w.principal()
	for !w.bad && len(w.b) > 0 {
		w.principal()
		w.principal()
		w.skip(2) // type of the key
		if b[1] == 3 {
			w.skip(2)
		}
		w.data()
		w.skip(4*4 + 1 + 4) // times, is_skey, flags
		for range 2 {       // addresses, authorization data
			for n := w.number(4); n > 0 && !w.bad; n-- {
				w.skip(2)
				w.data()
			}
		}
		w.data()
		w.data()
	}
	return !w.bad
}

// walk reads numbers from a file, and stops at its end.
type walk struct {
	b   []byte
	bad bool
}

func (w *walk) skip(n int) {
	if n < 0 || n > len(w.b) {
		w.bad, n = true, len(w.b)
	}
	w.b = w.b[n:]
}

// number reads a number of 2 or 4 bytes.
func (w *walk) number(size int) uint32 {
	if len(w.b) < size {
		w.bad = true
		return 0
	}
	var four [4]byte
	copy(four[4-size:], w.b)
	w.b = w.b[size:]
	return binary.BigEndian.Uint32(four[:])
}

func (w *walk) data() { w.skip(int(w.number(4))) }

func (w *walk) principal() {
	w.skip(4)
	for n := int64(w.number(4)) + 1; n > 0 && !w.bad; n-- { // the realm is an additional one
		w.data()
	}
}

// grantingService returns the ticket-granting service of a realm.
func grantingService(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}

// keyInfo returns the first type of encryption in a KDC's hint for which have returns true. A hint that requires too
// many iterations is an error.
func keyInfo(hints types.PADataSequence, have func(int32) bool) (cipher int32, err error) {
	err = decode(func() error {
		for _, hint := range hints {
			if hint.PADataType != patype.PA_ETYPE_INFO2 {
				continue
			}
			all, err := hint.GetETypeInfo2()
			if err != nil {
				return err
			}
			for _, i := range all {
				if len(i.S2KParams) == 4 && binary.BigEndian.Uint32(i.S2KParams)-1 >= maxIterations {
					return errors.New("the KDC requires too many iterations to derive the key from the password")
				}
				if cipher == 0 && have(i.EType) {
					cipher = i.EType
				}
			}
		}
		return nil
	})
	return cipher, err
}

// maxIterations of PBKDF2 take about a second; KDCs use 4,096 to 32,768.
const maxIterations = 1_000_000

// ticket is a ticket with its key.
type ticket struct {
	ticket     messages.Ticket
	key        types.EncryptionKey
	start, end time.Time
}

// renewAt returns when the ticket is to be renewed: after five sixths of its life.
func (t *ticket) renewAt() time.Time { return t.end.Add(-t.end.Sub(t.start) / 6) }
