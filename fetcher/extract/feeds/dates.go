package feeds

import (
	"strings"
	"time"
)

// ParseTime parses the times of sitemaps and feeds: the W3C profile of ISO 8601 with all its precisions
// (www.w3.org/TR/NOTE-datetime), RFC 3339, and those of RFC 822 and 5322, leniently. The default zone is UTC. day is
// true for a day or longer period; t is its beginning. The years are 1000 to 9999.
func ParseTime(s string) (t time.Time, day, ok bool) {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) < 4 || len(s) > 64 {
		return time.Time{}, false, false
	}
	if s[0] >= '0' && s[0] <= '9' && strings.IndexByte(s, ' ') != 1 && strings.IndexByte(s, ' ') != 2 {
		t, day, ok = parseISO(s)
	} else {
		t, ok = parseMail(s)
	}
	if !ok || t.Year() < 1000 || t.Year() > 9999 {
		return time.Time{}, false, false
	}
	return t.UTC(), day, true
}

func parseISO(s string) (t time.Time, day, ok bool) {
	s = strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), " UTC"), " GMT")
	if len(s) <= len("2006-01-02") { // trying a wrong layout costs an error
		for _, layout := range []string{"2006-01-02", "2006-01", "2006", "20060102", "2006/01/02", "2006-1-2"} {
			if t, err := time.Parse(layout, s); err == nil {
				return t, true, true
			}
		}
	}
	date, clock, ok := strings.Cut(s, "T")
	if !ok {
		date, clock, ok = strings.Cut(s, " ")
	}
	if !ok {
		return t, false, false
	}
	s = date + "T" + strings.ReplaceAll(clock, " ", "")
	for _, clockLayout := range []string{
		"15:04:05Z07:00", "15:04:05Z0700", "15:04:05Z07", "15:04Z07:00", "15:04Z0700", "15:04:05", "15:04", "150405Z07:00", "150405",
	} {
		for _, layout := range []string{"2006-01-02", "20060102", "2006/01/02"} {
			if t, err := time.Parse(layout+"T"+clockLayout, s); err == nil {
				return t, false, true
			}
		}
	}
	return t, false, false
}

// parseMail parses the times of RSS.
func parseMail(s string) (time.Time, bool) {
	if _, behind, ok := strings.Cut(s, ","); ok {
		s = strings.TrimSpace(behind)
	}
	for zone, offset := range map[string]string{
		"GMT": "+0000", "UTC": "+0000", "UT": "+0000", "Z": "+0000", "EST": "-0500", "EDT": "-0400",
		"CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
	} { // those of RFC 822 section 5.1
		if before, ok := strings.CutSuffix(s, " "+zone); ok {
			s = before + " " + offset
			break
		}
	}
	for _, layout := range []string{
		"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04 -0700", "2 Jan 06 15:04:05 -0700", "2 Jan 06 15:04 -0700",
		"2 Jan 2006 15:04:05 -07:00", "2 January 2006 15:04:05 -0700", "Jan 2 2006 15:04:05 -0700",
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006", "2 January 2006", "Mon Jan _2 15:04:05 2006",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
