package main

import (
	"errors"
	"testing"

	"github.com/sextant-crawler/sextant/internal/service"
)

// TestCopiesLeft: copies that were not fetched in place of documents that left have an exit code of
// their own; whatever else waits has none.
func TestCopiesLeft(t *testing.T) {
	crawls := []service.CrawlSummary{{NotDone: service.NotDone{Waiting: 3}, Later: service.Later{Timed: 2, Pending: 1}}, {}}
	if err := copiesLeft(crawls); err != nil {
		t.Error(err)
	}
	crawls[1].NotDone.Copies = 1
	f, ok := errors.AsType[*failure](copiesLeft(crawls))
	if want := "documents left the index, and 1 page that should replace them was not fetched yet: run it again"; !ok || f.code != exitLeft || f.Error() != want {
		t.Errorf("%v, want the exit code %d and %q", f, exitLeft, want)
	}
}
