// Package clock formats times. A sentence that one part writes and another shows, such as an error or the state of a
// host, contains times in the form of Stamp: RFC 3339 in UTC. The part that shows the sentence converts them to the
// reader's zone, so that all times of a response have the same zone. JSON, logs and files keep the stamps.
package clock

import (
	"regexp"
	"time"
)

// Stamp returns a time within a sentence: RFC 3339, in UTC, to the second.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// LocalForm is the form of times for people: of the day, to the second, with the offset of their zone.
const LocalForm = "2006-01-02 15:04:05 -07:00"

// Local returns a time as people read it, in the zone of this process.
func Local(t time.Time) string { return t.Local().Format(LocalForm) }

// stamp matches a stamp that is a word of a sentence. A URL has no space before one.
var stamp = regexp.MustCompile(`(^| \(?)(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)($|[ ).,;:])`)

// Replace returns a sentence with each of its stamps as write returns it, and the text between them as between does.
func Replace(sentence string, write func(time.Time) string, between func(string) string) string {
	var b []byte
	last := 0
	for from := 0; ; {
		at := stamp.FindStringSubmatchIndex(sentence[from:])
		if at == nil {
			return string(append(b, between(sentence[last:])...))
		}
		begin, end := from+at[4], from+at[5]
		if t, err := time.Parse(time.RFC3339, sentence[begin:end]); err == nil {
			b = append(append(b, between(sentence[last:begin])...), write(t)...)
			last = end
		}
		from = end // the character behind a stamp may stand before another one
	}
}

// Localize returns a sentence with its stamps as Local writes them.
func Localize(sentence string) string {
	return Replace(sentence, Local, func(s string) string { return s })
}
