package shared

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSums: a file is read when its time or size has changed, and once more if it had changed just before.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	path, missing := filepath.Join(dir, "crawl.rules"), filepath.Join(dir, "kill.txt")
	began := time.Now().Add(-time.Hour)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSums()
	now := began.Add(time.Minute)
	s.now = func() time.Time { return now }
	of := func() string { return s.Of([]string{path, missing})[path] }
	write("one", began)
	one := of()
	if len(one) != 64 || s.Of([]string{path, missing})[missing] != "" {
		t.Errorf("%q of a file", one)
	}
	write("two", began)
	if of() != one {
		t.Error("a file with the same time and size was read again")
	}
	write("three", began)
	three := of()
	if three == one {
		t.Error("a file with another size was not read again")
	}
	now = began.Add(10 * time.Second)
	write("THREE", now)
	young := of()
	if young == three {
		t.Error("a file with another time was not read again")
	}
	write("Three", now) // within the same tick
	now = now.Add(time.Minute)
	later := of()
	if later == young {
		t.Error("what changed within a tick of the first reading was not seen")
	}
	write("threE", now.Add(-time.Minute))
	if of() != later {
		t.Error("a file that had long been left alone was read once more")
	}
	if got := s.Of([]string{dir})[dir]; !strings.Contains(got, "cannot") {
		t.Errorf("%q of a folder", got)
	}
	if len(s.known) != 0 {
		t.Error("what is not asked for any more is remembered")
	}
}
