package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// weighStore is a store of some documents of one host.
type weighStore struct {
	Store // the methods that are not asked
	known map[weburl.Key]Record
	loss  *StoredDeletion
	err   error
}

func (s *weighStore) Lookup(_ context.Context, k weburl.Key) (Record, error) {
	r, ok := s.known[k]
	if !ok {
		return r, ErrNotFound
	}
	return r, s.err
}

func (s *weighStore) Documents(context.Context, weburl.HostKey) (HostDocuments, error) {
	return HostDocuments{Count: 100, Lost: 27}, s.err
}

func (s *weighStore) PendingDeletions(_ context.Context, _ DeletionFilter, fn func(StoredDeletion) error) error {
	if s.loss == nil {
		return s.err
	}
	return errors.Join(s.err, fn(*s.loss))
}

// weigher weighs visits to documents of one host, in package scheduler's own terms.
type weigher struct {
	*testing.T
	f     *Frontier
	store *weighStore
	host  *host
}

func newWeigher(t *testing.T) *weigher {
	store := &weighStore{known: map[weburl.Key]Record{}}
	f := &Frontier{store: store, texts: texts{}, log: slog.New(slog.DiscardHandler), owner: noOwner{}, jitter: func() float64 { return 0 }}
	return &weigher{T: t, f: f, store: store, host: &host{live: &live{}}}
}

// framed has the host know what its documents have in common.
func (w *weigher) framed() *weigher {
	h := w.f.texts.host(indexed().Host)
	h.template, h.readAt = sketch.Template{Titles: [4]uint32{1}}, time.Now()
	return w
}

// visit gives what the ith document's visit tells, and what follows.
func (w *weigher) visit(i int, old Record, r Result, change ...func(*Settings)) (Response, Completion) {
	w.Helper()
	set := settings(change...)
	c := outcome(&old, &r, set, 5, start(), 0)
	l := &Lease{Key: doc(i), Record: old, queue: &queue{host: w.host}}
	response, err := w.f.weigh(w.Context(), l, &r, &c, set, 5)
	if err != nil {
		w.Fatal(err)
	}
	return response, c
}

// page returns a document with a text, and its record.
func page(s sketch.Sketch) Result {
	r := document(2, "web")
	r.Document.Sketch = s
	return r
}

func stored(s sketch.Sketch) Record {
	r := indexed()
	r.Sketch, r.State = s, Timed
	return r
}

// TestNoTemplate: a host of a few documents does not know what belongs to the frame of its pages, so half of a text
// must stay.
func TestNoTemplate(t *testing.T) {
	for same, want := range map[int]bool{16: false, 15: true, 7: true} {
		w, r := newWeigher(t), page(mixed(text(1), text(2), same))
		if _, c := w.visit(1, stored(text(1)), r); (c.Next.Reason == ReasonNewText) != want {
			t.Errorf("%d of 32 parts stay: pending is %t, want %t", same, !want, want)
		}
		if _, c := newWeigher(t).framed().visit(1, stored(text(1)), r); c.Next.Reason == ReasonNewText {
			t.Errorf("%d of 32 parts stay: it is pending although the host has a template", same)
		}
	}
}

// TestResponses: what the outcome of a visit to a URL with a document says of its host.
func TestResponses(t *testing.T) {
	again := indexed()
	again.LossPending, again.Class = true, Permanent
	reason := func(r Reason) Result {
		return Result{Status: 200, Reason: r, NoDocument: "words", Decided: IndexFollow}
	}
	moved := Result{Status: 301, RedirectIgnored: true, Location: "http://b.test/", Moved: true, Decided: IndexFollow}
	lively := stored(text(1))
	lively.Lively = livelyAfter
	reread := page(text(2))
	reread.Document.Reading = 7
	login := page(text(2))
	login.LoginForm = true
	for name, c := range map[string]struct {
		old  Record
		r    Result
		want Response
	}{
		"same":                       {indexed(), document(1, "web"), GoodResponse},
		"304":                        {indexed(), Result{Status: 304, Conditional: true}, GoodResponse},
		"changed":                    {stored(text(1)), page(mixed(text(1), text(2), 16)), GoodResponse},
		"changed a lot":              {stored(text(1)), page(mixed(text(1), text(2), 7)), GoodResponse},
		"another text":               {stored(text(1)), page(mixed(text(1), text(2), 6)), NotCounted},
		"another text, log-in form":  {stored(text(1)), login, BadResponse},
		"another text, live page":    {lively, page(text(2)), GoodResponse},
		"another text, read anew":    {stored(text(1)), reread, GoodResponse},
		"good again":                 {again, document(1, "web"), GoodResponse},
		"good after errors":          {failing(indexed(), 3, day), document(1, "web"), GoodResponse},
		"404":                        {indexed(), status(404), BadResponse},
		"404 again":                  {again, status(404), NotCounted},
		"500":                        {indexed(), status(500), BadResponse},
		"time-out":                   {indexed(), faulty(fault.Timeout), BadResponse},
		"time-out again":             {failing(indexed(), 3, day), faulty(fault.Timeout), NotCounted},
		"log-in page":                {indexed(), Result{Status: 200, LoginPage: true}, BadResponse},
		"noindex":                    {indexed(), reason(ReasonNoIndex), BadResponse},
		"empty":                      {indexed(), reason(ReasonEmpty), BadResponse},
		"copy":                       {indexed(), reason(ReasonCopy), BadResponse},
		"near copy":                  {indexed(), reason(ReasonNearCopy), BadResponse},
		"canonical":                  {indexed(), reason(ReasonCanonical), BadResponse},
		"MIME type":                  {indexed(), reason(ReasonMediaType), BadResponse},
		"robots.txt":                 {indexed(), Result{Excluded: &Exclusion{Reason: ReasonRobots}}, BadResponse},
		"its time is over":           {indexed(), reason(ReasonUnavailable), NotCounted},
		"its site moved":             {indexed(), Result{Excluded: &Exclusion{Status: 760, Reason: ReasonMoved, MovedTo: "http://b.test/"}}, NotCounted},
		"redirect of its own":        {indexed(), moved, NotCounted},
		"rule":                       {indexed(), Result{Excluded: &Exclusion{Status: 760, Reason: ReasonRules}}, NotCounted},
		"kill list":                  {indexed(), reason(ReasonKilled), NotCounted},
		"another crawler's":          {indexed(), Result{Excluded: &Exclusion{Status: 761, Reason: ReasonElsewhere, Keep: true}}, NotCounted},
		"address refused":            {indexed(), faulty(fault.Address), NotCounted},
		"no document before":         {crawled(), status(404), NotCounted},
		"no document before, good":   {crawled(), document(1, "web"), NotCounted},
		"never fetched":              {fresh(), status(404), NotCounted},
		"an item asked for as it is": {func() Record { r := indexed(); r.Kind = KindItem; return r }(), status(404), NotCounted},
	} {
		for _, p := range []Policy{CloudView, Cautious, Smartsite} {
			if got, _ := newWeigher(t).framed().visit(1, c.old, c.r, policy(p)); got != c.want {
				t.Errorf("%s, %v: says %d, want %d", name, p, got, c.want)
			}
		}
		if got, _ := newWeigher(t).visit(1, c.old, c.r, atOnce); got != NotCounted {
			t.Errorf("%s: says %d where losses are not confirmed", name, got)
		}
	}
	w := newWeigher(t)
	for i, want := range []Response{NotCounted, NotCounted, BadResponse, BadResponse} {
		r := Result{Status: 302, RedirectIgnored: true, Location: "http://a.test/login?" + string(rune('a'+i)), Decided: IndexFollow}
		if got, _ := w.visit(i, indexed(), r); got != want {
			t.Errorf("redirect %d to one place: says %d, want %d", i, got, want)
		}
	}
}

// TestReplaced: a document whose text is that of the document that takes its place leaves at once, unless
// its host is ill, and says nothing of the host.
func TestReplaced(t *testing.T) {
	const target = "http://b.test/"
	u, err := weburl.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	redirect := func(status int) Result {
		return Result{Status: status, RedirectIgnored: true, Location: target, Decided: IndexFollow}
	}
	duplicate := status(200)
	duplicate.DuplicateOf, duplicate.Reason = target, ReasonCopy
	same := stored(mixed(text(1), text(2), 26))
	same.Class = OK
	change := func(c func(*Record)) *Record { r := same; c(&r); return &r }
	for name, c := range map[string]struct {
		r        Result
		at       *Record // nil: not known
		ill      bool
		replaced bool
		says     Response
	}{
		"301":                      {redirect(301), &same, false, true, NotCounted},
		"308":                      {redirect(308), &same, false, true, NotCounted},
		"duplicate":                {duplicate, &same, false, true, NotCounted},
		"ill":                      {redirect(301), &same, true, false, NotCounted},
		"302":                      {redirect(302), &same, false, false, BadResponse},
		"another text":             {redirect(301), change(func(r *Record) { r.Sketch = mixed(text(1), text(2), 25) }), false, false, BadResponse},
		"no document":              {redirect(301), change(func(r *Record) { r.Indexed = false }), false, false, BadResponse},
		"itself about to go":       {redirect(301), change(func(r *Record) { r.LossPending = true }), false, false, BadResponse},
		"not fetched yet":          {redirect(301), change(func(r *Record) { r.Class = Pending }), false, false, NotCounted},
		"not known":                {redirect(301), nil, false, false, NotCounted},
		"duplicate, not known":     {duplicate, nil, false, false, BadResponse},
		"a title alone":            {redirect(301), change(func(r *Record) { r.Sketch = sketch.Sketch{Title: 1} }), false, false, BadResponse},
		"duplicate, another title": {duplicate, change(func(r *Record) { r.Sketch.Title = 77 }), false, true, NotCounted},
	} {
		w := newWeigher(t)
		if c.at != nil {
			w.store.known[u.Key()] = *c.at
		}
		w.host.live.health.ill = c.ill
		response, out := w.visit(1, stored(text(1)), c.r)
		if c.replaced && (out.Next.State != AtRest || out.Next.Misses != 0 || out.Next.LossPending) {
			t.Errorf("%s: %+v, want it asked for no sooner than others", name, out.Next)
		}
		if leaves := out.Order != nil && out.Order.Loss == nil && !out.Next.Indexed; leaves != c.replaced || response != c.says {
			t.Errorf("%s: replaced %t, says %d; want %t, %d", name, leaves, response, c.replaced, c.says)
		}
	}
}

// TestTextsSettled: which new texts are pending, and what the record says of those that are not.
func TestTextsSettled(t *testing.T) {
	lively := func(n uint8) Record { r := stored(text(1)); r.Lively = n; return r }
	for name, c := range map[string]struct {
		old     Record
		r       Result
		ill     bool
		pending Reason // NoReason: none
		pushed  bool
		lively  uint8
	}{
		"changed":                  {lively(2), page(mixed(text(1), text(2), 20)), false, NoReason, true, 0},
		"another text":             {lively(2), page(text(2)), false, ReasonNewText, false, 2},
		"another text, live page":  {lively(3), page(text(2)), false, NoReason, true, 3},
		"another text, ill":        {lively(0), page(text(2)), true, ReasonNewText, false, 0},
		"changed, ill":             {lively(2), page(mixed(text(1), text(2), 20)), true, NoReason, false, 2},
		"same text, another title": {lively(1), page(func() sketch.Sketch { s := text(1); s.Title = 9; return s }()), false, NoReason, true, 0},
	} {
		w := newWeigher(t)
		w.host.live.health.ill = c.ill
		_, out := w.visit(1, c.old, c.r)
		o, n := out.Order, out.Next
		pending := o != nil && o.Loss != nil
		if pending != (c.pending != NoReason) || pending && (o.Reason != c.pending || n.Reason != c.pending) || n.Lively != c.lively {
			t.Errorf("%s: order %+v, record %+v; want %v pending", name, o, n, c.pending)
			continue
		}
		if pushed := o != nil && o.Loss == nil; pushed != c.pushed {
			t.Errorf("%s: pushed %t, want %t", name, pushed, c.pushed)
		}
		if pushed := c.pushed; pushed != (n.Hash == c.r.Document.Hash) || pushed != (n.Sketch == c.r.Document.Sketch) || pushed != (n.ETag == "new") {
			t.Errorf("%s: the record says %+v", name, n)
		}
		if pending {
			if o.Loss.Hash != c.r.Document.Hash || o.Loss.Sketch != c.r.Document.Sketch || string(o.Body) != "doc" || o.Day != day ||
				out.CancelDeletion || n.LastError == "" || !n.LossPending {
				t.Errorf("%s: pending as %+v, %+v", name, o, o.Loss)
			}
			if o.Edit != 0 {
				t.Errorf("%s: of edit %d", name, o.Edit)
			}
		}
		if !pending && !c.pushed && (!out.CancelDeletion || n.State != Timed) {
			t.Errorf("%s: %+v, want it asked for again soon", name, n)
		}
	}
}

// TestLostIsAskedFor: a visit to a URL that was lost and is still no document plans the next one.
func TestLostIsAskedFor(t *testing.T) {
	lost := crawled()
	lost.Class, lost.State = Permanent, Timed
	for _, c := range []struct {
		ago  time.Duration
		r    Result
		want time.Duration
		lost bool
	}{
		{time.Hour, status(404), 4 * time.Hour, true},
		{29 * time.Hour, status(404), 3 * day, true},
		{31 * day, status(404), 7 * day, false},
		{time.Hour, faulty(fault.Timeout), time.Minute, true}, // its back-off is sooner
	} {
		old := lost
		old.LostAt = time.Now().Add(-c.ago)
		response, out := newWeigher(t).visit(1, old, c.r)
		next := time.Until(out.Next.NextAt)
		if c.r.Fault != fault.None || !c.lost {
			next = out.Next.NextAt.Sub(start())
		}
		if response != NotCounted || out.Next.LostAt.IsZero() == c.lost || next.Round(time.Minute) != c.want {
			t.Errorf("%v after it was lost: says %d, again in %v, want %v; %+v", c.ago, response, next, c.want, out.Next)
		}
	}
	old := lost
	old.LostAt = start().Add(-time.Hour)
	if _, out := newWeigher(t).visit(1, old, document(1, "web")); !out.Next.LostAt.IsZero() || !out.Next.Indexed {
		t.Errorf("had back: %+v", out.Next)
	}
}
