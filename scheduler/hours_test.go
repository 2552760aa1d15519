package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func zone(t interface{ Fatal(...any) }, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// TestOpens returns the next opening by the clock on the wall, also on the days on
// which that is set.
func TestOpens(t *testing.T) {
	const layout = "2006-01-02 15:04:05 -0700"
	for _, c := range []struct {
		name, zone string
		hours      []Hours
		now, want  string
	}{
		{"the same day", "UTC", []Hours{{9 * 60, 17 * 60}}, "2026-03-02 08:59:59 +0000", "2026-03-02 09:00:00 +0000"},
		{"the next day", "UTC", []Hours{{9 * 60, 17 * 60}}, "2026-02-28 17:00:00 +0000", "2026-03-01 09:00:00 +0000"},
		{"the nearer of two", "UTC", []Hours{{1320, 1380}, {60, 120}}, "2026-02-28 03:00:00 +0000", "2026-02-28 22:00:00 +0000"},
		{"over midnight", "UTC", []Hours{{22 * 60, 6 * 60}}, "2026-02-28 06:00:00 +0000", "2026-02-28 22:00:00 +0000"},
		{"spring, after the change", "Europe/Paris", []Hours{{9 * 60, 17 * 60}}, "2026-03-28 20:00:00 +0100", "2026-03-29 09:00:00 +0200"},
		{"spring, the begin falls out", "Europe/Paris", []Hours{{150, 300}}, "2026-03-29 00:00:00 +0100", "2026-03-29 03:00:00 +0200"},
		{"spring, all of it falls out", "Europe/Paris", []Hours{{130, 170}}, "2026-03-29 00:00:00 +0100", "2026-03-30 02:10:00 +0200"},
		{"autumn, before the change", "Europe/Paris", []Hours{{120, 180}}, "2026-10-25 01:00:00 +0200", "2026-10-25 02:00:00 +0200"},
		{"autumn, it comes twice", "Europe/Paris", []Hours{{150, 170}}, "2026-10-25 02:50:00 +0200", "2026-10-25 02:30:00 +0100"},
		{"autumn, the day after", "Europe/Paris", []Hours{{60, 90}}, "2026-10-25 02:50:00 +0100", "2026-10-26 01:00:00 +0100"},
		{"half an hour", "Australia/Lord_Howe", []Hours{{125, 140}}, "2026-10-04 01:00:00 +1030", "2026-10-05 02:05:00 +1100"},
	} {
		loc := zone(t, c.zone)
		now, err := time.ParseInLocation(layout, c.now, loc)
		if err != nil {
			t.Fatal(err)
		}
		set := Throttle{Hours: c.hours}
		if set.open(now) {
			t.Errorf("%s: open at %s", c.name, c.now)
		}
		if got := set.opens(now).In(loc).Format(layout); got != c.want {
			t.Errorf("%s: opens at %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOpensIsTheFirst: in any zone, at any time, it is open then and in no minute
// before.
func TestOpensIsTheFirst(t *testing.T) {
	zones := []*time.Location{zone(t, "Europe/Paris"), zone(t, "America/New_York"), zone(t, "Australia/Lord_Howe"), zone(t, "Asia/Kolkata"), time.UTC}
	seeded.Check(t, func(t *rapid.T) {
		minute := rapid.IntRange(0, 1440)
		set := Throttle{Hours: []Hours{{minute.Draw(t, "from"), minute.Draw(t, "to")}}}
		if rapid.Bool().Draw(t, "two") {
			set.Hours = append(set.Hours, Hours{minute.Draw(t, "from"), minute.Draw(t, "to")})
		}
		now := time.Unix(1.77e9+int64(rapid.IntRange(0, 365*86400).Draw(t, "at")), 0).In(rapid.SampledFrom(zones).Draw(t, "zone"))
		if set.open(now) || set.Hours[0].From == 1440 || len(set.Hours) > 1 && set.Hours[1].From == 1440 {
			return
		}
		at := set.opens(now)
		if !at.After(now) || !set.open(at) {
			t.Fatalf("%v: opens at %v, but is closed then", now, at)
		}
		for m := at.Add(-time.Minute); m.After(now); m = m.Add(-time.Minute) {
			if set.open(m) {
				t.Fatalf("%v: opens at %v, but is open at %v", now, at, m)
			}
		}
	})
}
