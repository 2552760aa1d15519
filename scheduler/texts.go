package scheduler

import (
	"context"
	"hash/maphash"
	"net/url"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// textsKept is the number of responses of a host whose new texts are kept, lookedAt the number of those that are
	// searched for similar ones.
	textsKept, lookedAt = 32, 10
	// Two new texts are alike from lookAlikeAbove. A text is a look-alike if othersAlike other documents have a similar
	// one.
	lookAlikeAbove = 0.7
	othersAlike    = 2
	// sharedTarget is the number of documents that redirect to one place from which on that is a bad response.
	sharedTarget = 3
	// templateAge is the time for which the template of a host's documents is valid.
	templateAge = 10 * time.Minute
	// textHosts is the number of hosts whose texts are kept in memory: 3 KB each.
	textHosts = 1000
)

// hostTexts holds the texts that a host last returned in place of its documents.
type hostTexts struct {
	responses []newText // the newest last
	targets   []target  // of the documents that redirected, the newest last
	template  sketch.Template
	readAt    time.Time // when the template was read; zero: never
}

// newText is the new text of a response; is is false if it has none.
type newText struct {
	document weburl.Key
	sketch   sketch.Sketch
	exists   bool
}

// target is where a document redirects to, as a hash.
type target struct {
	document weburl.Key
	place    uint64
}

// texts holds the texts of each host. The Frontier's mutex guards it.
type texts map[weburl.HostKey]*hostTexts

// host returns the texts of a host and makes them if needed.
func (t texts) host(k weburl.HostKey) *hostTexts {
	h := t[k]
	if h == nil {
		for other := range t {
			if len(t) < textHosts {
				break
			}
			delete(t, other)
		}
		h = &hostTexts{}
		t[k] = h
	}
	return h
}

// responded records the response for a document with the record old, with its new text if is. It returns how similar
// the new text is to the text in the index, and whether it is a look-alike. template is the template of the host's
// documents.
func (t texts) responded(
	old *Record, k weburl.Key, text sketch.Sketch, is bool, template *sketch.Template,
) (alike float64, lookAlike bool) {
	h := t[old.Host]
	if h == nil {
		if !is {
			return 0, false
		}
		h = t.host(old.Host)
	}
	if is {
		alike, lookAlike = h.judge(old, k, text, template)
	}
	if len(h.responses) == textsKept {
		h.responses = slices.Delete(h.responses, 0, 1)
	}
	h.responses = append(h.responses, newText{k, text, is})
	return alike, lookAlike
}

func (h *hostTexts) judge(old *Record, k weburl.Key, text sketch.Sketch, template *sketch.Template) (float64, bool) {
	all := make([]sketch.Sketch, 0, textsKept)
	var others []weburl.Key
	for i := range h.responses {
		r := &h.responses[i]
		if !r.exists {
			continue
		}
		all = append(all, r.sketch)
		if i < len(h.responses)-lookedAt || r.document == k || slices.Contains(others, r.document) {
			continue
		}
		if sketch.Alike(r.sketch, text, template) > lookAlikeAbove { // text common to the host would hide the shared part
			others = append(others, r.document)
		}
	}
	common := sketch.TemplateOf(all)
	return sketch.Alike(old.Sketch, text, template, &common), len(others) >= othersAlike
}

var targetSeed = maphash.MakeSeed()

// redirected records where a document redirects to, and reports whether several lead there. It ignores the query, in
// which a log-in page often keeps the user's origin.
func (t texts) redirected(host weburl.HostKey, document weburl.Key, location string) (shared bool) {
	place := location
	if u, err := url.Parse(location); err == nil {
		place = u.Scheme + "://" + u.Host + u.Path
	}
	h := t.host(host)
	to := target{document, maphash.String(targetSeed, place)}
	h.targets = slices.DeleteFunc(h.targets, func(t target) bool { return t.document == document })
	if len(h.targets) >= healthResponses {
		h.targets = slices.Delete(h.targets, 0, 1)
	}
	h.targets = append(h.targets, to)
	n := 0
	for _, t := range h.targets {
		if t.place == to.place {
			n++
		}
	}
	return n >= sharedTarget
}

// TemplateOf returns what the texts of a host's documents have in common. It may be as old as templateAge.
func (f *Frontier) TemplateOf(ctx context.Context, k weburl.HostKey) (*sketch.Template, error) {
	f.mu.Lock()
	if h := f.texts[k]; h != nil && !h.readAt.IsZero() && time.Since(h.readAt) < templateAge {
		defer f.mu.Unlock()
		t := h.template
		return &t, nil
	}
	f.mu.Unlock()
	d, err := f.store.Documents(ctx, k)
	if err != nil {
		return nil, err
	}
	var all []sketch.Sketch
	for _, key := range d.Sample {
		r, err := Find(ctx, f.store, key)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Indexed && !r.Sketch.IsZero() {
			all = append(all, r.Sketch)
		}
	}
	t := sketch.TemplateOf(all)
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.texts.host(k)
	h.template, h.readAt = t, time.Now()
	return &t, nil
}
