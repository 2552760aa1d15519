package copies

import (
	"context"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// maxHosts is the number of hosts whose frames are kept in memory; other frames are read when needed.
	maxHosts = 1000
	// maxTitles is the number of a host's titles that are compared again when its frame changes.
	maxTitles = 4096
	// frameEach is the number of changes after which a frame is stored with a page.
	frameEach = 8
	// maxNotes limits the number of frames stored with one page.
	maxNotes = 8
)

// host is the state of one host.
type host struct {
	key     weburl.HostKey
	frame   *near.Frame
	changed bool // changes of the frame since its pages were last reviewed
	unsaved int  // changes of the frame that are not stored
	// titles are the titles that several pages share, or shared earlier.
	titles map[uint32]struct{}
}

// frameValue returns the key of the stored value with a host's frame.
func frameValue(k weburl.HostKey) scheduler.ValueName { return scheduler.HostValue(k, "crawl.frame") }

// host returns the state of a host, or nil if it must be read first. The mutex is held.
func (d *Detector) host(k weburl.HostKey) *host {
	e := d.hosts[k]
	if e == nil {
		return nil
	}
	d.recent.MoveToFront(e)
	return e.Value.(*host)
}

// readHost reads the frame of a host that is not known. The mutex, which is held, is released during the read.
func (d *Detector) readHost(ctx context.Context, k weburl.HostKey) error {
	if i := slices.IndexFunc(d.unsaved, func(h *host) bool { return h.key == k }); i >= 0 {
		h := d.unsaved[i]
		d.unsaved = slices.Delete(d.unsaved, i, i+1)
		d.keepHost(h)
		return nil
	}
	d.mu.Unlock()
	b, err := d.store.Value(ctx, frameValue(k))
	d.mu.Lock()
	if err != nil || d.hosts[k] != nil {
		return err
	}
	h := &host{key: k}
	if len(b) > 0 {
		if h.frame, err = near.DecodeFrame(b); err != nil {
			// It is learnt again; until then only equal pages are copies.
			d.log.Warn("cannot read the parts that the pages of a host share", "value", frameValue(k), "error", err)
		}
	}
	d.keepHost(h)
	return nil
}

// keepHost adds a host, and drops the least recently used one. The mutex is
// held.
func (d *Detector) keepHost(h *host) {
	d.hosts[h.key] = d.recent.PushFront(h)
	if d.recent.Len() <= maxHosts {
		return
	}
	last := d.recent.Back()
	old := last.Value.(*host)
	if d.recent.Remove(last); old.unsaved > 0 {
		d.unsaved = append(d.unsaved, old)
	}
	delete(d.hosts, old.key)
}

func noteOf(h *host) scheduler.Note {
	h.unsaved = 0
	return scheduler.Note{Name: frameValue(h.key), Value: h.frame.Append(nil)}
}

// framed reports whether the frame of a host may be learnt from a page.
func (d *Detector) framed(k weburl.HostKey, key weburl.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.host(k)
	return h == nil || h.frame.Takes(near.Key(key))
}

// learn adds a page to the frame of its host. The mutex is held.
func (h *host) learn(key weburl.Key, c *Content) {
	if c.text == nil { // as it was
		return
	}
	if grown := h.frame.With(near.Key(key), c.text); grown != h.frame {
		h.frame, h.changed = grown, true
		h.unsaved++
	}
}

// shared notes titles that several pages have, or may have.
func (h *host) shared(titles []uint32) {
	if h.titles == nil {
		h.titles = map[uint32]struct{}{}
	}
	for _, t := range titles {
		if len(h.titles) < maxTitles {
			h.titles[t] = struct{}{}
		}
	}
}

// Notes returns the values to store with a page of a host: frames that have grown.
func (d *Detector) Notes(k weburl.HostKey) (notes []scheduler.Note) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.unsaved), maxNotes)
	for _, h := range d.unsaved[:n] {
		notes = append(notes, noteOf(h))
	}
	d.unsaved = slices.Delete(d.unsaved, 0, n)
	if e := d.hosts[k]; e != nil {
		if h := e.Value.(*host); h.unsaved >= frameEach {
			notes = append(notes, noteOf(h))
		}
	}
	return notes
}

// Recheck compares the pages of hosts again after their frames changed, and stores the frames. The crawl calls it
// periodically and when it is otherwise done. It returns the number of pages to refetch.
func (d *Detector) Recheck(ctx context.Context) (again int, err error) {
	if d == nil {
		return 0, nil
	}
	titles, notes := d.recheckWork()
	for _, n := range notes {
		if err := d.store.SetValue(ctx, n.Name, n.Value); err != nil {
			return 0, err
		}
	}
	return d.review(ctx, titles)
}

// recheckWork returns the work of Recheck.
func (d *Detector) recheckWork() (titles []uint32, notes []scheduler.Note) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := d.recent.Front(); e != nil; e = e.Next() {
		h := e.Value.(*host)
		if h.changed {
			titles = slices.AppendSeq(titles, maps.Keys(h.titles))
		}
		if h.changed = false; h.unsaved > 0 {
			notes = append(notes, noteOf(h))
		}
	}
	slices.Sort(titles)
	return slices.Compact(titles), notes
}
