package words

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNearest(t *testing.T) {
	known := []string{"Root", "Roots", "Rules", "litteral", "nthreads", "smartRefreshMinAgeS", "smartRefreshMaxAgeS"}
	got := make(map[string]string)
	want := map[string]string{
		"root": "Root", "Rot": "Root", "ROOTS": "Roots", "Rulse": "Rules", "literal": "litteral", "nthread": "nthreads",
		"smartRefreshMaxS": "smartRefreshMaxAgeS", "x": "", "": "", "Something": "", strings.Repeat("Root", 1000): "",
	}
	for name := range want {
		got[name] = Nearest(name, known)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMeant: words of other products are found in any case, and nothing else is.
func TestMeant(t *testing.T) {
	for word, want := range map[string]string{"CONTAINS": "inside", "json": "file", "inside": "", "": ""} {
		if got := Meant(word, Values()); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
