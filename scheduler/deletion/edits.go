package deletion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Edits are stored as a JSON list of Edit, in the value editsName. Owner.mu guards them in memory. An edit is a change
// of the operator's rules: action rules, crawl space, kill and reject lists, roots, sources. The losses that it makes
// are pending until all stored URLs have been judged by it. Then they are carried out, if there are few, or with the
// operator's word; else they stay pending.

const (
	// editsKept is how many are remembered.
	editsKept = 20
	// editLasts is for how long after it was judged losses count as an edit's: later
	// ones, of URLs that only a visit can judge, are those of their host.
	editLasts = 24 * time.Hour
	// editFew and editPercent are what an edit may delete without the operator's word: two
	// documents, else up to editFew and editPercent of the index.
	editFew     = 100
	editPercent = 5
)

// editsName is the store's value of the edits.
var editsName = scheduler.CrawlValue("scheduler.edits")

// EditState is what became of an edit.
type EditState string

// The states.
const (
	EditOpen EditState = "judging" // stored URLs are being judged by it
	EditSent EditState = "sent"    // its losses are carried out
	EditHeld EditState = "held"    // they stay pending until the operator's word
)

// Edit is a change of the rules and what it deletes.
type Edit struct {
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	State  EditState `json:"state"`
	// Word says that the operator has allowed its losses, however many.
	Word bool `json:"word,omitempty"`
	// Deletions are the losses that it has made so far, Sent those of them that were carried out.
	Deletions uint64    `json:"deletions"`
	Sent      uint64    `json:"sent,omitempty"`
	Judged    time.Time `json:"judged,omitzero"`
}

// edits are the last ones, oldest first. The mutex of Owner guards it.
type edits struct {
	list []Edit // replaced, never changed
	read bool   // the list is as stored
	due  bool   // losses of edits may be pending that nothing was decided about
	done bool   // all stored URLs were judged by the last edit
}

// EditMost is how many documents of an index an edit may delete without the operator's
// word.
func EditMost(documents uint64) uint64 {
	return max(2, min(editFew, documents*editPercent/100))
}

// StoredEdits are the last edits, oldest first, as a store has them.
func StoredEdits(ctx context.Context, store scheduler.ValueReader) (list []Edit, err error) {
	err = scheduler.LoadValue(ctx, store, editsName, "the list of edits of the rules", &list)
	return list, err
}

// edited are the last edits, oldest first. It reads them if nobody did yet: URLs may be judged before Run.
func (d *Owner) edited(ctx context.Context) ([]Edit, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.edits.read {
		d.mu.Unlock()
		list, err := StoredEdits(ctx, d.store)
		d.mu.Lock()
		if err != nil {
			return nil, err
		}
		if !d.edits.read {
			d.edits.list, d.edits.read = list, true
		}
	}
	return d.edits.list, nil
}

// Edits are the last edits, oldest first.
func (d *Owner) Edits() []Edit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.edits.list)
}

// Edit is the number of the edit that deletions for the operator's reasons belong to now, 0 if there is none.
func (d *Owner) Edit(ctx context.Context) (uint64, error) {
	list, err := d.edited(ctx)
	if n := len(list); n > 0 && (list[n-1].State == EditOpen || time.Since(list[n-1].Judged) < editLasts) {
		return list[n-1].Number, err
	}
	return 0, err
}

// BeginEdit stores that the rules were edited, before any URL is judged by them. With word
// its deletions leave however many they are. It may be called before Run.
func (d *Owner) BeginEdit(ctx context.Context, word bool) (number uint64, err error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	d.mu.Lock()
	d.edits.done = false // that of the last one, which is judged with this one if it was not yet
	d.mu.Unlock()
	err = d.changeEdits(ctx, func(list []Edit) []Edit {
		number = 1
		if n := len(list); n > 0 {
			number = list[n-1].Number + 1
		}
		at := time.Now().UTC().Truncate(time.Second)
		list = append(list, Edit{Number: number, At: at, State: EditOpen, Word: word})
		return list[max(0, len(list)-editsKept):]
	})
	return number, err
}

// EndEdit is called when all stored URLs were judged by the last edit: its deletions are decided
// about now.
func (d *Owner) EndEdit() {
	d.mu.Lock()
	d.edits.done, d.edits.due = true, true
	d.mu.Unlock()
	d.wake()
}

// AllowEdit has the losses of an edit that f selects carried out, however many they are, at the operator's word.
// It returns how many were now, and ErrNotFound where nothing is known of such an edit.
func (d *Owner) AllowEdit(ctx context.Context, f scheduler.DeletionFilter) (int, error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	found := false
	err := d.changeEdits(ctx, func(list []Edit) []Edit {
		for i := range list {
			e := &list[i]
			if e.Number != f.Edit {
				continue
			}
			found, e.Word = true, true
			if e.State == EditHeld {
				e.State, e.Sent = EditSent, e.Deletions
			}
		}
		return list
	})
	if err != nil {
		return 0, err
	}
	n, err := d.release(ctx, f)
	if err == nil && n == 0 && !found {
		err = fmt.Errorf("edit %d of the rules: %w", f.Edit, scheduler.ErrNotFound)
	}
	return n, err
}

// changeEdits changes a copy of the list, which takes its place once it is stored. judging is held.
func (d *Owner) changeEdits(ctx context.Context, change func([]Edit) []Edit) error {
	list, err := d.edited(ctx)
	if err != nil {
		return err
	}
	list = change(slices.Clone(list))
	if err := scheduler.SaveValue(ctx, d.store, editsName, "the list of edits of the rules", list); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.edits.list = list
	return nil
}

// judgeEdits decides about the deletions of edits by which all URLs were judged. judging is
// held.
func (d *Owner) judgeEdits(ctx context.Context) error {
	d.mu.Lock()
	due, done := d.edits.due, d.edits.done
	if n := len(d.edits.list); n > 0 && d.edits.list[n-1].State == EditOpen && !done {
		due = false
	}
	if due { // before anything is read: there may be more in the meantime
		d.edits.due, d.edits.done = false, false
	}
	d.mu.Unlock()
	if !due {
		return nil
	}
	err := d.judgePendingEdits(ctx)
	if err != nil {
		d.mu.Lock()
		d.edits.due, d.edits.done = true, d.edits.done || done
		d.mu.Unlock()
	}
	return err
}

func (d *Owner) judgePendingEdits(ctx context.Context) error {
	pending := map[uint64]uint64{}
	err := d.store.DeletionGroups(ctx, func(g scheduler.DeletionGroup, n uint64) error {
		if g.Edit != 0 {
			pending[g.Edit] = n
		}
		return nil
	})
	if err != nil {
		return err
	}
	decided, err := d.decideEdits(ctx, pending)
	if err != nil {
		return err
	}
	for _, number := range slices.Sorted(maps.Keys(pending)) {
		switch state := decided[number]; {
		case state == EditSent, state == "" && d.f.Settings().Deletions.Off: // "": it is long forgotten
			if err := d.sendEdit(ctx, number, pending[number]); err != nil {
				return err
			}
		case state == EditHeld:
			d.log.Warn(fmt.Sprintf("edit %d of the rules deletes too many documents: they stay; "+
				"`sextant deletions release --edit %d` deletes them", number, number),
				"edit", number, "deletions", pending[number])
		}
	}
	return nil
}

// decideEdits decides about each edit with pending losses, and closes the open ones: an
// edit whose pass did not come through is judged with the last.
func (d *Owner) decideEdits(ctx context.Context, pending map[uint64]uint64) (map[uint64]EditState, error) {
	counts, err := d.store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	allowed := d.f.Settings().Deletions.Off
	decided := map[uint64]EditState{}
	err = d.changeEdits(ctx, func(list []Edit) []Edit {
		var earlier uint64
		for i := range list {
			e := &list[i]
			n := pending[e.Number]
			switch {
			case e.State == EditOpen && i < len(list)-1:
				earlier += n
				continue
			case n == 0 && e.State != EditOpen:
				continue
			}
			if e.State == EditHeld && e.Sent+n+earlier == e.Deletions && !e.Word && !allowed {
				continue // nothing new
			}
			e.Deletions = e.Sent + n + earlier
			if e.State == EditOpen {
				e.Judged = time.Now().UTC().Truncate(time.Second)
			}
			e.State = EditHeld
			if e.Word || allowed || e.Deletions <= EditMost(counts.Indexed+e.Sent) {
				e.State, e.Sent = EditSent, e.Deletions
			}
			decided[e.Number] = e.State
			for j := range list[:i] {
				if before := &list[j]; before.State == EditOpen {
					before.State, before.Judged = e.State, e.Judged
					decided[before.Number] = e.State
				}
			}
		}
		return list
	})
	return decided, err
}

// sendEdit carries out the losses of an edit, as many as were counted: there may be more by now.
func (d *Owner) sendEdit(ctx context.Context, number, counted uint64) error {
	var keys []weburl.Key
	err := d.store.Deletions(ctx, scheduler.DeletionGroup{Edit: number}, func(s scheduler.StoredDeletion) error {
		keys = append(keys, s.Key)
		return nil
	})
	if err != nil {
		return err
	}
	keys = keys[:min(uint64(len(keys)), counted)]
	_, err = d.moveAll(ctx, keys, &moving{set: d.f.Settings(), move: scheduler.SendDeletion, any: true})
	return err
}
