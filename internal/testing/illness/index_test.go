package illness

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// index is an indexer in memory that remembers when each order came, so that what it had
// at any moment can be told.
type index struct {
	mu     sync.Mutex
	orders []order
	down   bool // it takes nothing
}

// errDown is what an indexer that is down says.
var errDown = errors.New("the indexer is down")

func (x *index) turn(down bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.down = down
}

// order is one that came.
type order struct {
	at      time.Time
	url     string
	deletes bool
	reason  string
	content uint64 // of title and text
}

// Name implements push.Target.
func (x *index) Name() string { return "index" }

// Push implements push.Target.
func (x *index) Push(_ context.Context, entries []push.Entry) ([]push.Refusal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.down {
		return nil, errDown
	}
	for _, e := range entries {
		o := order{at: time.Now(), url: e.URL, deletes: e.Op == push.Delete}
		if o.deletes {
			var d push.Deletion
			if err := json.Unmarshal(e.Body, &d); err != nil {
				return nil, err
			}
			o.reason = d.Reason
		} else {
			var d push.Document
			if err := json.Unmarshal(e.Body, &d); err != nil {
				return nil, err
			}
			o.content = contentOf(d.Title, d.Text)
		}
		x.orders = append(x.orders, o)
	}
	return nil, nil
}

func contentOf(title, text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(title + "\n" + text)) // it never fails
	return h.Sum64()
}

// Checkpoint implements push.Target.
func (*index) Checkpoint(context.Context, uint64) error { return nil }

// Close implements push.Target.
func (*index) Close() error { return nil }

// documents are URLs with their contents.
type documents map[string]uint64

// at is what the index had at a moment.
func (x *index) at(moment time.Time) documents {
	x.mu.Lock()
	defer x.mu.Unlock()
	docs := documents{}
	for _, o := range x.orders {
		if o.at.After(moment) {
			break
		}
		docs.obey(o)
	}
	return docs
}

func (d documents) obey(o order) {
	if o.deletes {
		delete(d, o.url)
		return
	}
	d[o.url] = o.content
}

// lost are the deletions from one moment to another, both included, of documents that are
// among of and were in the index.
func (x *index) lost(of documents, from, to time.Time) []order {
	x.mu.Lock()
	defer x.mu.Unlock()
	var lost []order
	docs := documents{}
	for _, o := range x.orders {
		_, mine := of[o.url]
		_, there := docs[o.url]
		if o.deletes && mine && there && !o.at.Before(from) && !o.at.After(to) {
			lost = append(lost, o)
		}
		docs.obey(o)
	}
	return lost
}

// worst is the most of the orders, which are in order of time, within any span.
func worst(orders []order, span time.Duration) int {
	most, first := 0, 0
	for i := range orders {
		for orders[i].at.Sub(orders[first].at) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// state compares what is there with what should be.
func (d documents) state(want documents) (missing, changed, strange []string) {
	for url, content := range want {
		got, there := d[url]
		switch {
		case !there:
			missing = append(missing, url)
		case got != content:
			changed = append(changed, url)
		}
	}
	for url := range d {
		if _, ok := want[url]; !ok {
			strange = append(strange, url)
		}
	}
	return missing, changed, strange
}

// below are those whose URL begins so.
func (d documents) below(prefix string) documents {
	out := maps.Clone(d)
	maps.DeleteFunc(out, func(url string, _ uint64) bool { return !strings.HasPrefix(url, prefix) })
	return out
}
