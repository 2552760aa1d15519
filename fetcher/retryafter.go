package fetcher

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that a server is granted.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After header (RFC 9110 section 10.2.3), seconds or a date. ok is false if it is neither. A
// date in the past is not a wait.
func retryAfter(value string, now time.Time) (wait time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if seconds, isNumber := digits(value); isNumber {
		return seconds, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(date.Sub(now), 0), maxRetryAfter), true
}

// digits reads a number of seconds, however long, as at most maxRetryAfter.
func digits(s string) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	var d time.Duration
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		d = min(d*10+time.Duration(s[i]-'0')*time.Second, maxRetryAfter)
	}
	return d, true
}
