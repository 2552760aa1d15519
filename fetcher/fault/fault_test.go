package fault

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNumbers pins what stores hold: a fault that gets another number would make another
// fault of every one that is stored.
func TestNumbers(t *testing.T) {
	stored := []string{
		"none", "timeout", "reset", "refused", "short body", "host not found", "no response from DNS", "tls", "protocol",
		"too many redirects", "bad redirect", "address refused", "address forbidden", "proxy",
		"rendering", "rendering timed out", "reading",
	}
	got := []string{None.String()}
	for _, f := range All() {
		got = append(got, f.String())
	}
	if diff := cmp.Diff(stored, got); diff != "" {
		t.Errorf("the numbers of faults are stored: add new ones at the end (-stored +got):\n%s", diff)
	}
}

func TestUnknown(t *testing.T) {
	if got := Fault(200).String(); got != "fault 200" {
		t.Errorf("a fault of another version is %q", got)
	}
}

func TestReachedHost(t *testing.T) {
	for _, f := range All() {
		if want := f != DNSNotFound && f != Address && f != AddressForbidden && f != Proxy; f.ReachedHost() != want {
			t.Errorf("%s: reached the host %t", f, f.ReachedHost())
		}
	}
}
