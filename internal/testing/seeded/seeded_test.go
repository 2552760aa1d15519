package seeded

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		value string
		set   bool
		want  uint64
		fails bool
	}{
		{"", false, usual, false},
		{"7", true, 7, false},
		{"18446744073709551615", true, 1<<64 - 1, false},
		{"0", true, 0, true},
		{"", true, 0, true},
		{"-1", true, 0, true},
		{"luck", true, 0, true},
	} {
		got, err := parse(c.value, c.set)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("parse(%q, %v) = %d, %v; want %d", c.value, c.set, got, err, c.want)
		}
	}
	a, _ := parse(random, true)
	b, _ := parse(random, true)
	if a == b {
		t.Errorf("%s gives %d twice", random, a)
	}
}

// drawEnv makes TestDraws say what it draws.
const drawEnv = "SEXTANT_TEST_DRAW"

// TestDraws: two processes with the same seed draw the same, Rand and rapid both; with
// another seed they do not.
func TestDraws(t *testing.T) {
	if os.Getenv(drawEnv) != "" {
		var out strings.Builder
		out.WriteString("drawn")
		r := Rand(t)
		for range 5 {
			out.WriteString(" " + strconv.FormatUint(r.Uint64(), 10))
		}
		Check(t, func(t *rapid.T) { out.WriteString(" " + strconv.FormatUint(rapid.Uint64().Draw(t, "number"), 10)) })
		t.Log(out.String())
		return
	}
	draw := func(set ...string) string {
		t.Helper()
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDraws$", "-test.v")
		child.Env = append([]string{drawEnv + "=1"}, set...)
		out, err := child.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, words, _ := strings.Cut(string(out), "drawn")
		words, _, _ = strings.Cut(words, "\n")
		if len(strings.Fields(words)) < 50 {
			t.Fatalf("drew %q\n%s", words, out)
		}
		return words
	}
	usually := draw()
	if again := draw(); again != usually {
		t.Errorf("drew %s\nand then %s", usually, again)
	}
	if same := draw(env + "=1"); same != usually {
		t.Errorf("drew %s\nand with the same seed %s", usually, same)
	}
	if other := draw(env + "=2"); other == usually {
		t.Errorf("two seeds drew %s", other)
	}
}
