package extract

import (
	"strings"
	"time"
)

// maxDateFields is the most words and numbers in a date.
const maxDateFields = 16

// parseDate parses a date in the forms used for unavailable_after: RFC 822, RFC 850, ISO 8601, asctime, and similar
// ones. Its words may come in any order, because the month is written in letters or is between year and day. A date
// without a time means the end of that day; a time without a zone is in UTC. It returns false if s is not a date, or an
// ambiguous one (01/02/2030).
func parseDate(s string) (time.Time, bool) {
	if len(s) > maxUnavailableAfter {
		return time.Time{}, false
	}
	d := dateFields{day: -1, month: -1, year: -1, hour: -1}
	s, _, _ = strings.Cut(s, "(") // "GMT+0200 (CEST)"
	for n := 0; ; n++ {
		s = strings.TrimLeft(s, " \t,.;")
		if s == "" {
			return d.time()
		}
		rest, ok := d.field(s)
		if !ok || n == maxDateFields {
			return time.Time{}, false
		}
		s = rest
	}
}

// dateFields are the fields of a date; -1 if not found.
type dateFields struct {
	year, month, day, hour, minute, second int
	offset                                 int // of the zone, in minutes
	hasZone                                bool
}

// field reads the first field of s, and returns the rest.
func (d *dateFields) field(s string) (rest string, ok bool) {
	switch c := s[0]; {
	case isDigit(c):
		return d.number(s)
	case (c == '+' || c == '-') && d.hour >= 0 && len(s) > 1 && isDigit(s[1]):
		return d.numericZone(s)
	case c == '-' || c == '/': // between day, month and year
		return s[1:], true
	}
	n := 0
	for n < len(s) && (s[n]|0x20) >= 'a' && (s[n]|0x20) <= 'z' {
		n++
	}
	return s[n:], n > 0 && d.word(strings.ToLower(s[:n]))
}

// number reads a time, an ISO date, a year or a day.
func (d *dateFields) number(s string) (rest string, ok bool) {
	value, n := digits(s)
	switch {
	case n < len(s) && s[n] == ':':
		return d.clock(s)
	case n == 4 && n < len(s) && (s[n] == '-' || s[n] == '/') && d.year < 0 && n+1 < len(s) && isDigit(s[n+1]):
		return d.iso(value, s[n+1:], s[n:n+1])
	case n == 8 && d.year < 0 && d.day < 0:
		d.year, d.month, d.day = value/10_000, value/100%100, value%100
	case n == 4 && d.year < 0:
		d.year = value
	case n <= 2 && d.day < 0:
		d.day = value
		for _, ending := range [...]string{"st", "nd", "rd", "th"} {
			if len(s) >= n+2 && strings.EqualFold(s[n:n+2], ending) {
				n += 2
				break
			}
		}
	case n == 2 && d.year < 0:
		// RFC 850 has two digits; today they mean this century.
		d.year = 2000 + value
		if value >= 70 {
			d.year = 1900 + value
		}
	default:
		return s, false
	}
	return s[n:], true
}

// iso reads month and day after a year.
func (d *dateFields) iso(year int, s, separator string) (rest string, ok bool) {
	month, n := digits(s)
	rest, found := strings.CutPrefix(s[n:], separator)
	day, n := digits(rest)
	if !found || n == 0 || d.day >= 0 || d.month >= 0 {
		return s, false
	}
	d.year, d.month, d.day = year, month, day
	return rest[n:], true
}

// clock reads 15:04, 15:04:05 or 15:04:05.999.
func (d *dateFields) clock(s string) (rest string, ok bool) {
	if d.hour >= 0 {
		return s, false
	}
	var n int
	d.hour, n = digits(s)
	s = s[n+1:]
	if d.minute, n = digits(s); n != 2 {
		return s, false
	}
	s = s[n:]
	if len(s) > 1 && s[0] == ':' {
		if d.second, n = digits(s[1:]); n != 2 {
			return s, false
		}
		s = s[1+n:]
	}
	if len(s) > 1 && (s[0] == '.' || s[0] == ',') && isDigit(s[1]) {
		_, n = digits(s[1:])
		s = s[1+n:]
	}
	return s, true
}

// numericZone reads +02, +0200 or +02:00.
func (d *dateFields) numericZone(s string) (rest string, ok bool) {
	sign := 1
	if s[0] == '-' {
		sign = -1
	}
	value, n := digits(s[1:])
	rest = s[1+n:]
	minutes := value * 60
	switch {
	case n == 4:
		minutes = value/100*60 + value%100
	case n > 2:
		return s, false
	case strings.HasPrefix(rest, ":"):
		more, n := digits(rest[1:])
		if n != 2 {
			return s, false
		}
		minutes, rest = minutes+more, rest[1+n:]
	}
	d.hasZone, d.offset = true, sign*minutes
	return rest, minutes <= 15*60
}

// word reads the name of a month, a day of the week (which is ignored), a zone, am or pm.
func (d *dateFields) word(w string) bool {
	if i := nameIn(w, "january february march april may june july august september october november december"); i >= 0 {
		ok := d.month < 0
		d.month = i + 1
		return ok
	}
	if nameIn(w, "sunday monday tuesday wednesday thursday friday saturday") >= 0 {
		return true
	}
	switch w {
	case "t", "at", "of", "the":
		return true
	case "am", "pm":
		if d.hour < 1 || d.hour > 12 {
			return false
		}
		if d.hour %= 12; w == "pm" {
			d.hour += 12
		}
		return true
	}
	offset, ok := zoneOffset(w)
	ok = ok && !d.hasZone
	d.hasZone, d.offset = true, offset
	return ok
}

// nameIn returns the index of the name that w is, or its first three or more letters.
func nameIn(w, names string) int {
	i := 0
	for name := range strings.FieldsSeq(names) {
		if len(w) >= 3 && strings.HasPrefix(name, w) {
			return i
		}
		i++
	}
	return -1
}

// zoneOffset returns the offset of a zone of RFC 822, or a few more, in minutes.
func zoneOffset(name string) (minutes int, ok bool) {
	switch name {
	case "z", "ut", "utc", "gmt", "wet":
		return 0, true
	case "est":
		return -5 * 60, true
	case "edt":
		return -4 * 60, true
	case "cst":
		return -6 * 60, true
	case "cdt":
		return -5 * 60, true
	case "mst":
		return -7 * 60, true
	case "mdt":
		return -6 * 60, true
	case "pst":
		return -8 * 60, true
	case "pdt":
		return -7 * 60, true
	case "bst", "cet", "met", "west":
		return 60, true
	case "cest", "mest", "eet":
		return 2 * 60, true
	case "eest", "msk":
		return 3 * 60, true
	case "jst", "kst":
		return 9 * 60, true
	case "aest":
		return 10 * 60, true
	case "aedt":
		return 11 * 60, true
	}
	return 0, false
}

// time builds the time, if the fields are a valid date.
func (d *dateFields) time() (time.Time, bool) {
	if d.year < 0 || d.month < 1 || d.day < 1 || d.hour > 24 || d.minute > 59 || d.second > 60 || d.hour == 24 && d.minute+d.second > 0 {
		return time.Time{}, false
	}
	hour := d.hour
	if hour < 0 {
		hour = 24
	}
	date := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	if int(date.Month()) != d.month || date.Day() != d.day {
		return time.Time{}, false
	}
	return time.Date(d.year, time.Month(d.month), d.day, hour, d.minute-d.offset, d.second, 0, time.UTC), true
}

// digits parses the leading number of s, and returns its length.
func digits(s string) (value, n int) {
	for n < len(s) && n < 9 && isDigit(s[n]) {
		value = value*10 + int(s[n]-'0')
		n++
	}
	return value, n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
