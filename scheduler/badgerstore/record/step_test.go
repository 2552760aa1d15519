package record

import (
	"bytes"
	"errors"
	"testing"
)

func TestStep(t *testing.T) {
	step := BeginStep()
	step = AppendEdit(step, []byte("uone"), []byte("value"))
	step = AppendEdit(step, []byte("utwo"), nil)
	step = AppendEdit(step, []byte("t"), []byte{}) // empty is not removed
	var got []string
	err := EachEdit(step, func(key, value []byte) error {
		what := string(key) + "=" + string(value)
		if value == nil {
			what = string(key) + " removed"
		}
		got = append(got, what)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"uone=value", "utwo removed", "t="}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("edits %q, want %q", got, want)
	}
}

// TestStepDamaged wants nothing of a damaged step to be done, whatever stands before the damage.
func TestStepDamaged(t *testing.T) {
	good := AppendEdit(BeginStep(), []byte("uone"), []byte("value"))
	for name, step := range map[string][]byte{
		"empty":            {},
		"other version":    append([]byte{9}, good[1:]...),
		"value cut":        good[:len(good)-1],
		"no value":         append(bytes.Clone(good), 1, 'u'),
		"key too long":     append(bytes.Clone(good), 200, 'u'),
		"no key":           append(bytes.Clone(good), 0, 0),
		"key of one copy":  AppendEdit(bytes.Clone(good), RemovalKey(1, [16]byte{}), []byte{}),
		"place of a copy":  AppendEdit(bytes.Clone(good), PositionKey(), []byte("x")),
		"length of a file": append(bytes.Clone(good), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
	} {
		calls := 0
		err := EachEdit(step, func(_, _ []byte) error { calls++; return nil })
		if !errors.Is(err, ErrStep) || calls != 0 {
			t.Errorf("%s: error %v after %d edits, want ErrStep after none", name, err, calls)
		}
	}
}

// FuzzStep wants what is read of any bytes to be a step that is read the same way again.
func FuzzStep(f *testing.F) {
	f.Add(AppendEdit(AppendEdit(BeginStep(), []byte("uone"), []byte("value")), []byte("q"), nil))
	f.Add([]byte{stepVersion, 1, 'u', 1})
	f.Add([]byte{stepVersion, 0x81, 0x00, 'u', 0})
	f.Fuzz(func(t *testing.T, step []byte) {
		again := BeginStep()
		n := 0
		err := EachEdit(step, func(key, value []byte) error {
			n++
			again = AppendEdit(again, key, value)
			return nil
		})
		if err != nil {
			if n != 0 {
				t.Fatalf("%d edits of a step that is damaged: %v", n, err)
			}
			return
		}
		m := 0
		if err := EachEdit(again, func(_, _ []byte) error { m++; return nil }); err != nil || m != n {
			t.Fatalf("%d edits, and %d (%v) when written again", n, m, err)
		}
		if len(again) > len(step) {
			t.Fatalf("%d bytes became %d", len(step), len(again))
		}
	})
}
