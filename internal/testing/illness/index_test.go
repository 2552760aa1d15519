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
	title   string
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
			o.title, o.content = d.Title, contentOf(d.Title, d.Text)
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

// at returns what the index had at a moment.
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

// lost returns the deletions from one moment to another, both included, of documents that are
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

// spoiled returns the orders from one moment to another, both included, that took a document of
// want out of the index or replaced it by a text that is not its own.
func (x *index) spoiled(want documents, from, to time.Time) []order {
	x.mu.Lock()
	defer x.mu.Unlock()
	var spoiled []order
	docs := documents{}
	for _, o := range x.orders {
		good, mine := want[o.url]
		was, there := docs[o.url]
		docs.obey(o)
		is, stays := docs[o.url]
		if mine && there && was == good && (!stays || is != good) && !o.at.Before(from) && !o.at.After(to) {
			spoiled = append(spoiled, o)
		}
	}
	return spoiled
}

// daily counts the documents of orders by the day, 24 hours long, after from.
func daily(orders []order, from time.Time) []int {
	var days []map[string]bool
	for _, o := range orders {
		day := int(o.at.Sub(from) / (24 * time.Hour))
		for len(days) <= day {
			days = append(days, map[string]bool{})
		}
		days[day][o.url] = true
	}
	var counts []int
	for _, urls := range days {
		counts = append(counts, len(urls))
	}
	return counts
}

// came returns when each document was first there.
func (x *index) came() map[string]time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	came := map[string]time.Time{}
	for _, o := range x.orders {
		if _, known := came[o.url]; !known && !o.deletes {
			came[o.url] = o.at
		}
	}
	return came
}

// titles returns those of the documents that the index has.
func (x *index) titles() map[string]string {
	x.mu.Lock()
	defer x.mu.Unlock()
	titles := map[string]string{}
	for _, o := range x.orders {
		if o.deletes {
			delete(titles, o.url)
		} else {
			titles[o.url] = o.title
		}
	}
	return titles
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

// below returns those whose URL begins so.
func (d documents) below(prefix string) documents {
	out := maps.Clone(d)
	maps.DeleteFunc(out, func(url string, _ uint64) bool { return !strings.HasPrefix(url, prefix) })
	return out
}
