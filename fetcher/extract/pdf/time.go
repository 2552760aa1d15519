package pdf

import (
	"strings"
	"time"
)

// parseTime parses a date (ISO 32000-2 section 7.9.4) such as D:20260131235959+01'00'. Missing parts at its end get
// their lowest values; the default zone is UTC. An invalid date gives the zero time.
func parseTime(s string) time.Time {
	s = strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(s), "D:"), "'", "")
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	const layout = "20060102150405"
	if digits < 4 || digits > len(layout) || digits%2 != 0 {
		return time.Time{}
	}
	date, zone := s[:digits], s[digits:]
	// The parts that are missing: January, the first, midnight.
	date += "00000101000000"[digits:]
	switch {
	case zone == "", strings.HasPrefix(zone, "Z"):
		zone = "+0000"
	case len(zone) == len("+01"):
		zone += "00"
	}
	t, err := time.Parse(layout+"-0700", date+zone)
	if err != nil {
		return time.Time{}
	}
	return t
}
