package fetcher

import (
	"testing"
	"time"
)

var now = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{" 7 ", 7 * time.Second, true},
		{"86401", 24 * time.Hour, true},
		{"99999999999999999999999999", 24 * time.Hour, true},
		{"Sat, 01 Mar 2025 12:01:30 GMT", 90 * time.Second, true},
		{"Saturday, 01-Mar-25 12:01:30 GMT", 90 * time.Second, true},
		{"Sat Mar  1 12:01:30 2025", 90 * time.Second, true},
		{"Sat, 01 Mar 2025 11:00:00 GMT", 0, true},
		{"Sat, 01 Mar 2125 11:00:00 GMT", 24 * time.Hour, true},
		{"", 0, false},
		{"-5", 0, false},
		{"+5", 0, false},
		{"1.5", 0, false},
		{"5 minutes", 0, false},
		{"soon", 0, false},
		{"\xff\x00", 0, false},
	}
	for _, tt := range tests {
		if got, ok := retryAfter(tt.value, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %v, %v, want %v, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "Sat, 01 Mar 2025 12:01:30 GMT", "99999999999999999999", "-1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		wait, ok := retryAfter(value, now)
		if wait < 0 || wait > maxRetryAfter || !ok && wait != 0 {
			t.Errorf("%q: %v, %v", value, wait, ok)
		}
	})
}
