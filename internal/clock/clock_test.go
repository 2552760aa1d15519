package clock

import (
	"strings"
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	if got := Stamp(time.Date(2026, 11, 24, 7, 14, 49, 5e8, berlin)); got != "2026-11-24T06:14:49Z" {
		t.Errorf("got %s", got)
	}
}

func TestReplace(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"nothing":              "NOTHING",
		"2026-11-24T06:14:49Z": "[06:14]",
		"until 2026-11-24T06:14:49Z: rests (since 2026-11-24T05:00:00Z)":       "UNTIL [06:14]: RESTS (SINCE [05:00])",
		"2026-11-24T06:14:49Z 2026-11-24T06:15:49Z 2026-11-24T06:16:49Z":       "[06:14] [06:15] [06:16]",
		"http://h/2026-11-24T06:14:49Z and http://h/?t=2026-11-24T06:14:49Z&b": "HTTP://H/2026-11-24T06:14:49Z AND HTTP://H/?T=2026-11-24T06:14:49Z&B",
		"http://h/p(2026-11-24T06:14:49Z) is p":                                "HTTP://H/P(2026-11-24T06:14:49Z) IS P",
		"at 2026-13-24T06:14:49Z or 2026-11-24T06:14:49Z.":                     "AT 2026-13-24T06:14:49Z OR [06:14].",
		"at 2026-11-24T06:14:49+01:00":                                         "AT 2026-11-24T06:14:49+01:00",
	} {
		write := func(t time.Time) string { return t.Format("[15:04]") }
		if got := Replace(in, write, strings.ToUpper); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestLocalize(t *testing.T) {
	at := time.Date(2026, 11, 24, 6, 14, 49, 0, time.UTC)
	if got, want := Localize("until "+Stamp(at)+"."), "until "+at.Local().Format("2006-01-02 15:04:05 -07:00")+"."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
