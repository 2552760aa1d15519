package admin

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/crawl"
)

// stuck is a Crawler whose changes wait for an engine that does not answer: a pause whoever still waits for it, a refresh as long as
// somebody does.
type stuck struct {
	fakeCrawler
	silent  *atomic.Bool
	answers chan struct{} // closed when the engine does
}

func (s stuck) Pause(context.Context) error {
	s.silent.Store(true)
	<-s.answers
	return nil
}

func (s stuck) Refresh(ctx context.Context, _ crawl.Selection) (crawl.Refreshed, error) {
	s.silent.Store(true)
	<-ctx.Done()
	return crawl.Refreshed{}, ctx.Err()
}

func (s stuck) Remove(context.Context, crawl.Selection) (crawl.Removed, error) {
	panic("a fault of the program")
}

// TestChangeMeetsSilence: a change that waits when the engine falls silent is told so while it waits, and what is not known of it; one that can be
// given up is. A panic ends the request that it was for.
func TestChangeMeetsSilence(t *testing.T) {
	var silent atomic.Bool
	data, err := os.MkdirTemp("", "admin")
	if err != nil {
		t.Fatal(err)
	}
	crawler := stuck{fakeCrawler{name: "a", store: storeWith(t)}, &silent, make(chan struct{})}
	server := NewServer([]Crawler{crawler}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	server.Tell(About{Stalled: func() string {
		if silent.Load() {
			return "the engine is silent"
		}
		return ""
	}})
	runServer(t, server, data)
	client, err := Dial(t.Context(), data, "a")
	if err != nil {
		t.Fatal(err)
	}
	unknown := "Whether this change will be stored is not known"
	if err := client.Pause(t.Context()); err == nil || !strings.Contains(err.Error(), "the engine is silent") || !strings.Contains(err.Error(), unknown) {
		t.Errorf("a pause that cannot be given up: %v", err)
	}
	if err := client.Pause(t.Context()); err == nil || strings.Contains(err.Error(), unknown) {
		t.Errorf("a pause that was not begun: %v", err)
	}
	silent.Store(false)
	if _, err := client.Refresh(t.Context(), Selection{URLs: []string{"http://a.test/"}}); err == nil || !strings.Contains(err.Error(), "the engine is silent") || strings.Contains(err.Error(), unknown) {
		t.Errorf("a refresh that was given up: %v", err)
	}
	silent.Store(false)
	if _, err := client.Remove(t.Context(), Selection{URLs: []string{"http://a.test/"}}, true); err == nil || strings.Contains(err.Error(), "silent") {
		t.Errorf("a fault: %v", err)
	}
	close(crawler.answers)
}
