package weburl

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

// TestKeysOfASiteStandTogether pins the stored form: keys begin with a hash of the host, for which neither scheme
// nor port nor a leading "www." counts.
func TestKeysOfASiteStandTogether(t *testing.T) {
	const want = 0xa379
	for _, s := range []string{"http://example.com/", "https://www.example.com:8443/a/b?c", "https://example.com/x"} {
		u := mustParse(t, s)
		h := u.HostKey()
		if got := u.Key().HostHash(); got != want || binary.BigEndian.Uint16(h[:]) != want {
			t.Errorf("%s: the host's hash is %#x, and %x in its HostKey, want %#x", s, got, h[:2], want)
		}
	}
	for _, s := range []string{"http://www2.example.com/", "http://example.org/", "http://wwwexample.com/", "http://[::1]/"} {
		if mustParse(t, s).Key().HostHash() == want {
			t.Errorf("%s has the hash of example.com", s)
		}
	}
	if a, b := mustParse(t, "http://h/"), mustParse(t, "https://h/"); a.HostKey() == b.HostKey() || a.Key() == b.Key() {
		t.Error("http and https of a host have one key")
	}
}

// TestChanceWithinAHost makes a million keys of one host: whoever spreads them by their first bytes would have them all
// in one place; by Chance they are even, and none of them collide.
func TestChanceWithinAHost(t *testing.T) {
	const n = 1_000_000
	host := mustParse(t, "http://example.com/").Key().HostHash()
	var stripes, tails [256]int
	prints := make(map[uint64]struct{}, n)
	for i := range n {
		k := mustParse(t, fmt.Sprintf("http://example.com/%d", i)).Key()
		if k.HostHash() != host {
			t.Fatalf("URL %d has another host", i)
		}
		c := k.Chance()
		stripes[c[0]]++
		tails[c[len(c)-1]]++
		prints[binary.BigEndian.Uint64(c[:])>>8] = struct{}{}
	}
	if len(prints) != n {
		t.Errorf("%d of %d keys share 56 bits with another one", n-len(prints), n)
	}
	for name, counts := range map[string][256]int{"first": stripes, "last": tails} {
		mean := float64(n) / float64(len(counts))
		for b, count := range counts {
			if math.Abs(float64(count)-mean) > 6*math.Sqrt(mean) {
				t.Errorf("%s byte %d: %d keys, want about %.0f", name, b, count, mean)
			}
		}
	}
}

// TestHostHashOfEveryForm: however a URL is read, it has the hash of its host.
func TestHostHashOfEveryForm(t *testing.T) {
	base, err := NewBase("http://www.example.com/a/b")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"c", "/c", "?d", "#e", "", "//example.com/", "https://www.example.com/", "http://other.test/x", "HTTP://EXAMPLE.com/%c3", "http://b\u00fccher.test/"} {
		u, err := base.Resolve(ref)
		if err != nil {
			t.Fatal(err)
		}
		if again := mustParse(t, u.String()); u.Key() != again.Key() || u.HostKey() != again.HostKey() || u.WithFragment("") != again {
			t.Errorf("%q is resolved to %s with the key %s, parsed it has %s", ref, u, u.Key(), again.Key())
		}
	}
	for _, s := range []string{"http://www.www.example.com/a;jsessionid=1", "http://www.example.com/", "http://example.com/?b&a"} {
		u := Options{DropWWW: true, DropSessionIDs: true, SortQuery: true}.Apply(mustParse(t, s))
		if again := mustParse(t, u.String()); u.Key() != again.Key() {
			t.Errorf("%s becomes %s with the key %s, parsed it has %s", s, u, u.Key(), again.Key())
		}
	}
}

// TestHostsSpread: hosts are spread evenly over 64 parts, also those with like names.
func TestHostsSpread(t *testing.T) {
	const n = 64 * 1000
	var parts [64]int
	for i := range n {
		parts[mustParse(t, fmt.Sprintf("https://shop%d.example.com/", i)).Key().HostHash()%64]++
	}
	for p, count := range parts {
		if math.Abs(float64(count)-1000) > 6*math.Sqrt(1000) {
			t.Errorf("part %d has %d hosts, want about 1000", p, count)
		}
	}
}
