package meter

import "testing"

// TestFieldIsLost: a field that most pages had is reported as lost once, and again after it was there.
func TestFieldIsLost(t *testing.T) {
	var f Fields
	add := func(pages int, found bool) (lost int) {
		for range pages {
			if f.Add("acl_allow", found, false) {
				lost++
			}
		}
		return lost
	}
	if n := add(3*lostAfter, false); n != 0 {
		t.Errorf("a field that was never found was lost %d times", n)
	}
	f = Fields{}
	add(20, true)
	if n := add(lostAfter-1, false) + add(1, true); n != 0 {
		t.Errorf("lost %d times after %d pages", n, lostAfter-1)
	}
	if n := add(3*lostAfter, false); n != 1 {
		t.Errorf("lost %d times after many pages, want 1", n)
	}
}
