package copies

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"

	"github.com/sextant-crawler/sextant/internal/testing/copysites"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// fatal is a test.
type fatal interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world crawls pages with a Detector: it stores what is found as the crawl does, and
// fetches again what the Detector asks for.
type world struct {
	t       fatal
	d       *Detector
	pages   []copysites.Page
	urls    []weburl.URL
	at      map[weburl.Key]int
	records map[weburl.Key]scheduler.Record
	values  map[scheduler.ValueName][]byte
	queue   []int
	fetches int
}

func newWorld(t fatal, pages []copysites.Page) *world {
	w := &world{t: t, pages: pages, at: map[weburl.Key]int{}, records: map[weburl.Key]scheduler.Record{}, values: map[scheduler.ValueName][]byte{}}
	for i := range pages {
		u, err := weburl.Parse(pages[i].URL())
		if err != nil {
			t.Fatal(err)
		}
		w.urls = append(w.urls, u)
		w.at[u.Key()] = i
	}
	w.restart()
	return w
}

// restart makes another Detector, as another process does.
func (w *world) restart() {
	w.d = New(w, w.requeue, slog.New(slog.DiscardHandler))
	if err := w.d.Begin(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Lookup(_ context.Context, k weburl.Key) (scheduler.Record, error) {
	r, ok := w.records[k]
	if !ok {
		return r, scheduler.ErrNotFound
	}
	return r, nil
}

func (w *world) Inspect(_ context.Context, f scheduler.Filter, fn func(weburl.Key, scheduler.Record) error) error {
	var keys []weburl.Key
	for k := range w.records {
		if k.Compare(f.From) >= 0 {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, weburl.Key.Compare)
	for _, k := range keys {
		if err := fn(k, w.records[k]); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Value(_ context.Context, name scheduler.ValueName) ([]byte, error) {
	return w.values[name], nil
}

func (w *world) SetValue(_ context.Context, name scheduler.ValueName, v []byte) error {
	w.values[name] = v
	return nil
}

func (w *world) requeue(_ context.Context, u weburl.URL) error {
	i := w.at[u.Key()]
	r := w.records[u.Key()]
	r.State = scheduler.Waiting
	w.records[u.Key()] = r
	if !slices.Contains(w.queue, i) {
		w.queue = append(w.queue, i)
	}
	return nil
}

// crawl fetches pages in an order, and then what is asked for again.
func (w *world) crawl(order ...int) {
	w.queue = append(w.queue, order...)
	most := w.fetches + 20*len(w.pages) + 100
	for again := true; again; {
		for ; len(w.queue) > 0; w.fetches++ {
			i := w.queue[0]
			w.queue = w.queue[1:]
			if err := w.fetch(i); err != nil {
				w.t.Fatal(err)
			}
			if w.fetches > most {
				w.t.Fatalf("there is no end to it: %d fetches of %d pages", w.fetches, len(w.pages))
			}
		}
		n, err := w.d.Recheck(context.Background())
		if err != nil {
			w.t.Fatal(err)
		}
		again = n > 0
	}
}

func (w *world) fetch(i int) error {
	ctx, p, u := context.Background(), &w.pages[i], w.urls[i]
	l := &scheduler.Lease{URL: u, Key: u.Key(), Record: w.records[u.Key()]}
	defer w.d.Abandon(l.Key)
	r := scheduler.Record{URL: u.String(), Host: u.HostKey(), State: scheduler.AtRest}
	result := scheduler.Result{Status: 200}
	if p.Text == gone {
		result.Status = 404
		w.records[l.Key] = r
		return errors.Join(w.settle(ctx, l, &result), w.d.Free(ctx, []weburl.Key{l.Key}))
	}
	sum := [16]byte(hashed(p.Title + "\x00" + p.Text))
	c := w.d.Compare(l, &push.Document{Text: p.Text, Title: p.Title, Source: "all"}, p.Title, u.HostKey(), sum)
	original, why, overlap, err := w.d.Original(ctx, l, c)
	if err != nil {
		return err
	}
	r.Signature, r.Overlap, r.Reason, r.Hash = c.Stored(), overlap, why, sum
	if original != nil {
		r.DuplicateOf = original.URL
	} else {
		r.Indexed, r.PushedSource = true, "all"
		result.Document = &scheduler.Document{Hash: sum}
	}
	w.records[l.Key] = r
	for _, n := range w.d.Notes(u.HostKey()) {
		w.values[n.Name] = n.Value
	}
	return w.settle(ctx, l, &result)
}

func (w *world) settle(ctx context.Context, l *scheduler.Lease, r *scheduler.Result) error {
	if rest := w.d.Settle(l, r); rest != nil {
		return rest(ctx)
	}
	return nil
}

// gone is the text of a page that is not there any more.
const gone = "\x00gone"

func hashed(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:16]
}

// found is the number of the document that a page is a copy of, -1 if it is one itself.
func (w *world) found(i int) int {
	r := w.records[w.urls[i].Key()]
	if r.DuplicateOf == "" {
		return -1
	}
	u, _ := weburl.FromCanonical(r.DuplicateOf)
	return w.at[u.Key()]
}

// groups gives for each page the first one of those that are copies of one another.
func (w *world) groups() []int {
	first := map[int]int{}
	groups := make([]int, len(w.pages))
	for i := range w.pages {
		at := i
		if of := w.found(i); of >= 0 {
			at = of
		}
		if _, ok := first[at]; !ok {
			first[at] = i
		}
		groups[i] = first[at]
	}
	return groups
}

// tally counts distinct pages that were lost, and copies that were found, by kind.
type tally struct {
	lost          []string
	found, copies map[string]int
}

func (w *world) tally() tally {
	t := tally{found: map[string]int{}, copies: map[string]int{}}
	page := func(i int) int { // that it is a copy of, in truth
		if of := w.pages[i].Of; of >= 0 {
			return of
		}
		return i
	}
	groups := w.groups()
	for i := range w.pages {
		of := w.found(i)
		if of >= 0 && page(of) != page(i) {
			t.lost = append(t.lost, w.pages[i].URL()+" as "+w.pages[of].URL())
		}
		if truth := w.pages[i].Of; truth >= 0 {
			t.copies[w.pages[i].Kind]++
			if groups[i] == groups[truth] {
				t.found[w.pages[i].Kind]++
			}
		}
	}
	return t
}

// in is an order of pages that a seed chooses.
func in(seed uint64, pages []copysites.Page) []int {
	return rand.New(rand.NewPCG(seed, 11)).Perm(len(pages))
}
