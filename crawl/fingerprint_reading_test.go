package crawl

import "testing"

// TestVersionOfReading: a page that was read by other settings is fetched whole, and
// nothing is judged again for that.
func TestVersionOfReading(t *testing.T) {
	made := func(s Settings) *policy {
		p, err := newPolicy(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain := made(Settings{})
	seen := map[uint64]string{plain.version: "none"}
	for name, s := range map[string]Settings{"one": {ReadingKey: "a"}, "other": {ReadingKey: "b"}} {
		p := made(s)
		if p.fingerprint != plain.fingerprint {
			t.Errorf("%s: stored URLs would be judged again", name)
		}
		if other, known := seen[p.version]; known {
			t.Errorf("%s has the version of %s", name, other)
		}
		seen[p.version] = name
	}
}
