package storetest

import (
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Link returns a link to a URL, for a fifo; it panics if the URL is invalid.
func Link(raw string, fifo scheduler.Source) scheduler.Link {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return scheduler.Link{URL: u, Fifo: fifo}
}

// Links returns n links, with the numbers from 0 in a pattern of fmt.
func Links(n int, pattern string, fifo scheduler.Source) []scheduler.Link {
	var all []scheduler.Link
	for i := range n {
		all = append(all, Link(fmt.Sprintf(pattern, i), fifo))
	}
	return all
}

// Keys returns the keys of the links' URLs.
func Keys(links []scheduler.Link) []weburl.Key {
	var all []weburl.Key
	for _, l := range links {
		all = append(all, l.URL.Key())
	}
	return all
}
