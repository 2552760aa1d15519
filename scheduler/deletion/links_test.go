package deletion_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// throttle is the pause of scheduler.DefaultSettings.
const throttle = 2500 * time.Millisecond

var errDisk = errors.New("the disk is on fire")

func link(raw string, s scheduler.Source) scheduler.Link {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return scheduler.Link{URL: u, Fifo: s}
}

func links(n int, pattern string, s scheduler.Source) []scheduler.Link {
	var all []scheduler.Link
	for i := range n {
		all = append(all, link(fmt.Sprintf(pattern, i), s))
	}
	return all
}

func keys(links []scheduler.Link) []weburl.Key {
	var all []weburl.Key
	for _, l := range links {
		all = append(all, l.URL.Key())
	}
	return all
}
