package scheduler

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// TestValueNames pins the stored form, and that no two names have one.
func TestValueNames(t *testing.T) {
	host, url := weburl.HostKey{1, 2, 7: 3}, weburl.Key{1, 2, 15: 3}
	for _, c := range []struct {
		name   ValueName
		scope  Scope
		stored string
		text   string
	}{
		{CrawlValue("paused"), OfCrawl, "\x00paused", "paused"},
		{PartValue(258, "rests"), OfPart, "\x01\x01\x02rests", "rests of part 258"},
		{HostValue(host, "robots"), OfHost, "\x02" + string(host[:]) + "robots", fmt.Sprintf("robots of host %x", host[:])},
		{URLValue(url, "items"), OfURL, "\x03" + string(url[:]) + "items", fmt.Sprintf("items of URL %x", url[:])},
	} {
		if got := c.name.Append([]byte("v")); !bytes.Equal(got, []byte("v"+c.stored)) || c.name.Scope() != c.scope || c.name.String() != c.text {
			t.Errorf("%v, of scope %d, is stored as %q", c.name, c.name.Scope(), got)
		}
	}
	if again := host; HostValue(again, "a") != HostValue(host, "a") || HostValue(host, "a") == HostValue(host, "b") {
		t.Error("names are not compared by what they name")
	}
}
