// Package testurl parses the URLs of tests.
package testurl

import (
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// Parse returns a URL that must be one.
func Parse(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
