package extract

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestParseDate(t *testing.T) {
	const at15 = "2010-06-25T15:00:00Z"
	for s, want := range map[string]string{
		"25 Jun 2010 15:00:00 UTC":                  at15,
		"25 Jun 2010 15:00:00 PST":                  "2010-06-25T23:00:00Z", // RFC 822
		"Fri, 25 Jun 2010 15:00:00 GMT":             at15,
		"Fri, 25 Jun 10 15:00 +0200":                "2010-06-25T13:00:00Z",
		"Friday, 25-Jun-10 15:00:00 UTC":            at15, // RFC 850
		"25-Jun-2010 15:00:00 EST":                  "2010-06-25T20:00:00Z",
		"friday, 25-june-10 15:00:00 utc":           at15,
		"2010-06-25T15:00:00Z":                      at15, // ISO 8601
		"2010-06-25T15:00:00+02:00":                 "2010-06-25T13:00:00Z",
		"2010-06-25T15:00:00.123-0130":              "2010-06-25T16:30:00Z",
		"2010-06-25T15:00Z":                         at15,
		"2010-06-25 15:00:00":                       at15,
		"2010-06-25 15:00:00 CEST":                  "2010-06-25T13:00:00Z",
		"2010-06-25":                                "2010-06-26T00:00:00Z",
		"20100625":                                  "2010-06-26T00:00:00Z",
		"2010/06/25 15:00":                          at15,
		"Fri Jun 25 15:00:00 2010":                  at15, // asctime
		"Fri Jun 25 15:00:00 UTC 2010":              at15, // date(1)
		"Fri Jun 25 2010 17:00:00 GMT+0200 (CEST)":  at15, // JavaScript
		"Jun 25, 2010":                              "2010-06-26T00:00:00Z",
		"June 25th, 2010 3:00 PM":                   at15,
		"25 June 2010 12:30 am":                     "2010-06-25T00:30:00Z",
		"1 Sept 2030":                               "2030-09-02T00:00:00Z",
		"31-Dec-99 23:59:59 GMT":                    "1999-12-31T23:59:59Z",
		"29 Feb 2028 24:00 UTC":                     "2028-03-01T00:00:00Z",
		"":                                          "",
		"never":                                     "",
		"tomorrow":                                  "",
		"01/02/2030":                                "",
		"29 Feb 2027":                               "",
		"25 Jun":                                    "",
		"2010":                                      "",
		"2010-06":                                   "",
		"2010-13-01":                                "",
		"25 Jun 2010 25:00":                         "",
		"25 Jun 2010 24:30":                         "",
		"25 Jun 2010 15:61":                         "",
		"25 Jun 2010 15:00 XYZ":                     "",
		"25 Jun 2010 15:00 +9900":                   "",
		"25 Jun Jul 2010":                           "",
		"25 Jun 2010 1 2 3":                         "",
		"25 Jun 2010 15:00:00 UTC and many others.": "",
	} {
		got, ok := parseDate(s)
		text := ""
		if ok {
			text = got.Format(time.RFC3339)
		}
		if text != want {
			t.Errorf("%q: got %q, want %q", s, text, want)
		}
	}
}

func TestParseDateAgain(t *testing.T) {
	layouts := []string{
		time.RFC1123Z, time.RFC822Z, time.RFC3339, "Monday, 02-Jan-2006 15:04:05 -0700", "January 2, 2006 15:04:05 -07:00",
		"2006-01-02 15:04:05-07", "20060102 15:04:05 -0700", "2 Jan 2006 03:04:05 PM -0700",
	}
	seeded.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom(layouts).Draw(t, "layout")
		zone := time.FixedZone("", rapid.IntRange(-14, 14).Draw(t, "hours")*3600)
		// Two digits of a year stand for 1970 to 2069.
		want := time.Unix(rapid.Int64Range(86_400, 3_155_000_000).Draw(t, "seconds"), 0).In(zone)
		if layout == time.RFC822Z {
			want = want.Truncate(time.Minute)
		}
		if y := want.Year(); y < 1970 {
			t.Skip("a year before 1970")
		}
		got, ok := parseDate(want.Format(layout))
		if !ok || !got.Equal(want) {
			t.Fatalf("%q: got %v, %v", want.Format(layout), got, ok)
		}
	})
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"Fri, 25 Jun 10 15:00 +0200", "2010-06-25T15:00:00.123-0130", "June 25th, 2010 3:00 PM", "20100625", "1:", "+-/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, ok := parseDate(s); ok && (at.Year() < 0 || at.Year() > 10_000) {
			t.Errorf("%q is %v", s, at)
		} else if !ok && !at.IsZero() {
			t.Errorf("%q is no date but %v", s, at)
		}
	})
}
