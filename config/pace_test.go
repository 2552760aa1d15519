package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
)

func TestHours(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []scheduler.Hours
	}{
		{"22-6", []scheduler.Hours{{From: 1320, To: 360}}},
		{"22:30-06:00", []scheduler.Hours{{From: 1350, To: 360}}},
		{" 0 - 24 ", []scheduler.Hours{{From: 0, To: 1440}}},
		{"22-24:00", []scheduler.Hours{{From: 1320, To: 1440}}},
		{"9-12,13:05-17", []scheduler.Hours{{From: 540, To: 720}, {From: 785, To: 1020}}},
		{"23-0, 1-2", []scheduler.Hours{{From: 1380, To: 0}, {From: 60, To: 120}}},
	} {
		got, complaint := parseHours(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" || complaint != "" {
			t.Errorf("%q: complaint %q (-want +got):\n%s", tt.in, complaint, diff)
		}
	}
	for in, want := range map[string]string{
		"":              "must not be empty",
		" ":             "must not be empty",
		"22":            `has "22", which is not a range`,
		"22-6,":         `has "", which is not a range`,
		"22-6-7":        "not a range",
		"25-6":          "not a range",
		"6-24:30":       "not a range",
		"6:60-7":        "not a range",
		"6.30-7":        "not a range",
		"ten-eleven":    "not a range",
		"-1-5":          "not a range",
		"6-6":           "at the same time: write 0-24",
		"06:00-6":       "at the same time",
		"24-6":          "begins \"24-6\" at 24, the end of the day: write 0",
		"9-12, 24:00-1": "write 0",
	} {
		if _, complaint := parseHours(in); !strings.Contains(complaint, want) {
			t.Errorf("%q: complaint %q, want one with %q", in, complaint, want)
		}
	}
}

func TestSchedule(t *testing.T) {
	now := time.Date(2026, 2, 27, 12, 30, 0, 0, time.Local) // a Friday
	for spec, want := range map[string]string{
		"0 3 * * *":       "2026-02-28 03:00",
		"*/15 * * * *":    "2026-02-27 12:45",
		"0 0 29 2 *":      "2028-02-29 00:00",
		"0 0 31 2 sun":    "2027-02-07 00:00", // one of the two days is enough, as cron has it
		"30 6 1,15 * *":   "2026-03-01 06:30",
		"0 8-10/2 * * 1":  "2026-03-02 08:00",
		"0 0 1 JAN-MAR *": "2026-03-01 00:00",
		"@hourly":         "2026-02-27 13:00",
		"@daily":          "2026-02-28 00:00",
		"@midnight":       "2026-02-28 00:00",
		"@weekly":         "2026-03-01 00:00",
		"@monthly":        "2026-03-01 00:00",
		"@yearly":         "2027-01-01 00:00",
		"@every 90m":      "2026-02-27 14:00",
	} {
		s, complaint := parseSchedule(spec, now)
		if complaint != "" {
			t.Errorf("%q: %s", spec, complaint)
			continue
		}
		if got := s.Next(now).Format("2006-01-02 15:04"); got != want {
			t.Errorf("%q: next %s, want %s", spec, got, want)
		}
	}
	for spec, want := range map[string]string{
		"":                             "must not be empty",
		"0 3 * *":                      "has 4 fields",
		"0 0 3 * * *":                  "has 6 fields",
		"60 * * * *":                   `has "60" for the minute: write 0 to 59`,
		"0 24 * * *":                   `has "24" for the hour: write 0 to 23`,
		"0 3 0 * *":                    `has "0" for the day of the month: write 1 to 31`,
		"0 3 * 13 *":                   `has "13" for the month`,
		"0 3 * * 7":                    `has "7" for the day of the week: write 0 (Sunday) to 6`,
		"0 3 * * monday":               "SUN to SAT",
		"0 5-3 * * *":                  "for the hour",
		"*/0 * * * *":                  "for the minute",
		"0 , * * *":                    "for the hour",
		"0 3 31 2 *":                   "never occurs: there is no day 31 in month 2",
		"0 3 30 2 *":                   "never occurs",
		"0 3 31 4,6,9,11 *":            "never occurs",
		"TZ=UTC 0 3 * * *":             "names a time zone",
		"CRON_TZ=UTC":                  "names a time zone",
		"@fortnightly":                 "is unknown: write @hourly",
		"@every":                       "is unknown",
		"@every 1s":                    "a minute or more",
		"@every -1h":                   "a minute or more",
		"@every day":                   "a minute or more",
		"99999999999999999999 * * * *": "for the minute",
	} {
		if _, complaint := parseSchedule(spec, now); !strings.Contains(complaint, want) {
			t.Errorf("%q: complaint %q, want one with %q", spec, complaint, want)
		}
	}
}

func TestThrottlesAndRefreshes(t *testing.T) {
	file := goodCase(t, "pace")
	c := file.Crawlers[0]
	var got []scheduler.Throttle
	for _, th := range c.Frontier.Throttles {
		th.Match = nil
		got = append(got, th)
	}
	want := []scheduler.Throttle{
		{WholeHost: true, Pause: 110 * time.Millisecond, HasPause: true, Connections: 1, Hours: []scheduler.Hours{{From: 1320, To: 360}, {From: 720, To: 780}}},
		{WholeHost: true, Pause: 10 * time.Millisecond, HasPause: true},
		{Pause: 10 * time.Millisecond, HasPause: true, Connections: 2},
		{WholeHost: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("throttles (-want +got):\n%s", diff)
	}
	if match := c.Frontier.Throttles[0].Match; !match(mustURL(t, "https://a.example.com/x")) || match(mustURL(t, "http://a.example.com/x")) {
		t.Errorf("the first Throttle's condition matches otherwise than written")
	}
	var specs []string
	for _, r := range c.Refreshes {
		next := r.Schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local))
		specs = append(specs, r.Spec+"|"+r.Group+"|"+next.Format("2006-01-02 15:04"))
	}
	if diff := cmp.Diff([]string{"0 3 * * *|news|2026-01-01 03:00", "@weekly||2026-01-04 00:00"}, specs); diff != "" {
		t.Errorf("refreshes (-want +got):\n%s", diff)
	}
	if !c.Frontier.PerAddress || c.MaxRequestsPerS != 5 || c.MaxBytesPerS != 1<<20 || c.Frontier.MinimumAged != 90*time.Second || !c.Frontier.SitemapHints {
		t.Errorf("settings %+v", c)
	}
}

// A Throttle behind one that matches all that it does never counts.
func TestIdleThrottles(t *testing.T) {
	text := `<CrawlConfig><Crawler name="a"><Root url="http://a/"/>
<Throttle hours="0-6"><Domain val="example.com"/></Throttle>
<Throttle hours="1-6"><Host val="www.example.com"/></Throttle>
<Throttle hours="2-6"><And><Host val="a"/><Host val="b"/></And></Throttle>
<Throttle hours="3-6"><Host val="example.org"/></Throttle>
<Throttle><Host val="example.net"/></Throttle>
</Crawler></CrawlConfig>`
	_, report := Parse(FileName, []byte(text), Lookups{})
	all := problemLines(report.Errors) + problemLines(report.Warnings) + problemLines(report.Notes)
	for _, want := range []string{
		"CrawlConfig.xml:3:1: the Throttle is never used: the one at CrawlConfig.xml:2:1 matches all its URLs",
		"CrawlConfig.xml:4:1: the Throttle can never match",
		"CrawlConfig.xml:6:1: <Throttle> sets nothing",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	if n := strings.Count(all, "Throttle"); n != 3 {
		t.Errorf("%d mentions of Throttle in\n%s", n, all)
	}
}

func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"0 3 * * *", "@every 90m", "TZ= 1", "0 0 30 2 *", "*/5 1-3,4 ? JAN sun", "1/2/3 * * * *"} {
		f.Add(s)
	}
	now := time.Date(2026, 2, 27, 12, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, spec string) {
		spec = strings.Join(strings.Fields(spec), " ")
		s, complaint := parseSchedule(spec, now)
		if (s == nil) == (complaint == "") {
			t.Fatalf("%q: schedule %v, complaint %q", spec, s, complaint)
		}
		if s != nil && !s.Next(now).After(now) {
			t.Errorf("%q: next %s", spec, s.Next(now))
		}
	})
}

func FuzzHours(f *testing.F) {
	for _, s := range []string{"22-6", "22:30-06:00, 12-13", "0-24", "24-24", "6-6", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		hours, complaint := parseHours(value)
		if (len(hours) == 0) == (complaint == "") {
			t.Fatalf("%q: hours %v, complaint %q", value, hours, complaint)
		}
		for _, h := range hours {
			if h.From < 0 || h.From >= minutesOfDay || h.To < 0 || h.To > minutesOfDay || h.From == h.To {
				t.Errorf("%q: %+v", value, h)
			}
		}
	})
}
