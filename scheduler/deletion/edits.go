package deletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Edits are stored as a JSON list of Edit, in the value editsName. Owner.mu guards them in memory. An edit is a change
// of the operator's rules: action rules, crawl space, kill and reject lists, roots, sources. Its losses are pending
// until all stored URLs have been judged by it. Then they are carried out, if there are few or the operator allows
// them; else they stay pending.

const (
	// editsKept is the number of edits that are kept; older ones are kept only while they have pending losses, or are
	// open.
	editsKept = 20
	// editLasts is the time after an edit was judged within which losses found by visits count as its own, unless it is
	// held: later ones belong to their host.
	editLasts = 24 * time.Hour
	// editFew and editPercent bound the documents that edits may remove within a day without the operator's approval:
	// two documents, else up to editFew and editPercent of the index.
	editFew     = 100
	editPercent = 5
)

// The store's values: the edits, and the ledger of what they removed without the operator's approval.
var editsName, spentName = scheduler.CrawlValue("scheduler.edits"), scheduler.CrawlValue("scheduler.edits.spent")

// EditState is the state of an edit.
type EditState string

// The states.
const (
	EditOpen EditState = "judging" // stored URLs are being judged by it
	EditSent EditState = "sent"    // its losses are carried out
	EditHeld EditState = "held"    // they stay pending until the operator allows them
)

// Edit is a change of the rules and its deletions.
type Edit struct {
	Number uint64    `json:"number"`
	At     time.Time `json:"at"`
	State  EditState `json:"state"`
	// Word is set if the operator has allowed its losses, however many.
	Word bool `json:"word,omitempty"`
	// Deletions counts its losses so far, Sent those that were carried out.
	Deletions uint64    `json:"deletions"`
	Sent      uint64    `json:"sent,omitempty"`
	Judged    time.Time `json:"judged,omitzero"`
}

// edits holds the last edits, oldest first. Owner's mutex guards it.
type edits struct {
	list     []Edit // replaced, never changed
	due      bool   // losses of edits may be pending without a decision
	done     bool   // all stored URLs were judged by the last edit
	expected uint64 // as in EndEdit
}

// EditMost returns how many documents edits may remove from an index within a day without the operator's approval.
func EditMost(documents uint64) uint64 {
	return max(2, min(editFew, documents*editPercent/100))
}

// EditRoom returns how many more documents edits may remove from a store's index now.
func EditRoom(ctx context.Context, store scheduler.ValueReader, documents uint64) (uint64, error) {
	l, err := readLedger(ctx, store, spentName)
	n, _ := l.within(time.Now())
	most := EditMost(documents + uint64(n)) //nolint:gosec // a count
	return most - min(most, uint64(n)), err //nolint:gosec // a count
}

// StoredEdits returns the last edits from a store, oldest first.
func StoredEdits(ctx context.Context, store scheduler.ValueReader) (list []Edit, err error) {
	err = scheduler.LoadValue(ctx, store, editsName, "the list of edits of the rules", &list)
	return list, err
}

// Edits returns the last edits, oldest first.
func (d *Owner) Edits() []Edit {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.edits.list)
}

// Edit returns the number of the edit that losses for the operator's rules belong to now, or 0: the edit that is being
// judged, else the first one that is held, since a visit may find more of its losses, else a new one.
func (d *Owner) Edit() uint64 {
	d.mu.Lock()
	list := d.edits.list
	d.mu.Unlock()
	if len(list) == 0 {
		return 0
	}
	last := list[len(list)-1]
	held := slices.IndexFunc(list, func(e Edit) bool { return e.State == EditHeld })
	switch {
	case last.State == EditOpen, held < 0 && time.Since(last.Judged) < editLasts:
		return last.Number
	case held >= 0:
		return list[held].Number
	}
	return 0
}

// BeginEdit stores that the rules were edited, before any URL is judged by them. With word set, its deletions leave
// however many there are. It may be called before Run.
func (d *Owner) BeginEdit(ctx context.Context, word bool) (number uint64, err error) {
	d.judging.Lock()
	defer d.judging.Unlock()
	d.mu.Lock()
	d.edits.done = false // an unfinished last edit is judged together with this one
	d.mu.Unlock()
	err = d.changeEdits(ctx, func(list []Edit) []Edit {
		number = 1
		if n := len(list); n > 0 {
			number = list[n-1].Number + 1
		}
		list = append(list, Edit{Number: number, At: time.Now().UTC().Truncate(time.Second), State: EditOpen, Word: word})
		old := 0
		return slices.DeleteFunc(list, func(e Edit) bool {
			old++
			return e.State == EditSent && old <= len(list)-editsKept
		})
	})
	return number, err
}

// EndEdit reports that all stored URLs were judged by the last edit. Its losses are decided now, together with those
// that only visits will find, estimated by expected.
func (d *Owner) EndEdit(expected uint64) {
	d.mu.Lock()
	d.edits.done, d.edits.due, d.edits.expected = true, true, expected
	d.mu.Unlock()
	d.wake()
}

// changeEdits changes a copy of the list, which replaces it once it is stored. judging is held.
func (d *Owner) changeEdits(ctx context.Context, change func([]Edit) []Edit) error {
	list := change(d.Edits())
	if err := scheduler.SaveValue(ctx, d.store, editsName, "the list of edits of the rules", list); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.edits.list = list
	return nil
}

// judgeEdits decides about the losses of edits by which all URLs were judged, and queues lists whose documents may
// leave a target. judging is held.
func (d *Owner) judgeEdits(ctx context.Context) error {
	if err := d.f.ReadLists(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	n, done, expected := len(d.edits.list), d.edits.done, d.edits.expected
	due := d.edits.due && (done || n == 0 || d.edits.list[n-1].State != EditOpen)
	if due { // before reading: there may be more in the meantime
		d.edits.due, d.edits.done = false, false
	}
	d.mu.Unlock()
	if !due {
		return nil
	}
	err := d.judgePendingEdits(ctx, expected)
	if err != nil {
		d.mu.Lock()
		d.edits.due, d.edits.done = true, d.edits.done || done
		d.mu.Unlock()
	}
	return err
}

func (d *Owner) judgePendingEdits(ctx context.Context, expected uint64) error {
	pending := map[uint64]uint64{}
	err := d.store.DeletionGroups(ctx, func(g scheduler.DeletionGroup, n uint64) error {
		pending[g.Edit] = n
		return nil
	})
	if err != nil {
		return err
	}
	delete(pending, 0) // those of hosts
	counts, err := d.store.Counts(ctx)
	if err != nil {
		return err
	}
	room, err := EditRoom(ctx, d.store, counts.Indexed)
	if err != nil {
		return err
	}
	sends, err := d.decideEdits(ctx, pending, expected, room)
	for _, send := range sends {
		err = errors.Join(err, d.sendEdit(ctx, send))
	}
	return err
}

// sending selects the losses of an edit that are to be carried out.
type sending struct {
	edit, n uint64
	word    bool // the operator has allowed them
}

// decideEdits closes the open edits and decides about each with pending losses; an edit whose pass did not finish is
// judged with the last. All losses that leave within a day without the operator's approval count together, whatever
// their edit. Once all URLs were judged, everything pending follows from the rules in force, so approval of the last
// edit covers all.
func (d *Owner) decideEdits(
	ctx context.Context, pending map[uint64]uint64, expected, room uint64,
) (sends []sending, err error) {
	now, off := time.Now().UTC().Truncate(time.Second), d.f.Settings().Deletions.Off
	err = d.changeEdits(ctx, func(list []Edit) []Edit {
		n, open := len(list), expected
		closes := n > 0 && list[n-1].State == EditOpen
		all := closes && list[n-1].Word
		for i := range list {
			if e := &list[i]; e.State == EditOpen {
				e.Judged = now
				open += pending[e.Number]
			}
		}
		for i := range list {
			e, n := &list[i], pending[list[i].Number]
			if delete(pending, e.Number); n == 0 && e.State != EditOpen {
				if closes && e.State == EditHeld { // the pass has cancelled all that it held
					e.State, e.Deletions = EditSent, e.Sent
				}
				continue
			}
			e.Word = e.Word || all
			fits, word := n <= room, off || e.Word
			if e.State == EditOpen {
				fits = open <= room
			}
			if news := e.decide(n, word, fits, closes); e.State == EditSent {
				sends = append(sends, sending{e.Number, n, word})
				if !word {
					room, open = room-min(room, n), open-min(open, n)
				}
			} else if news {
				d.log.Warn(fmt.Sprintf("edit %d of the rules removes too many documents, so they stay; "+
					"`sextant deletions release --edit %d` removes them", e.Number, e.Number), "edit", e.Number, "deletions", n)
			}
		}
		for number, n := range pending { // of edits that were dropped long ago
			if off || all {
				sends = append(sends, sending{number, n, true})
			}
		}
		return list
	})
	return sends, err
}

// decide decides about n pending losses, and reports whether the edit changed. A held edit stays held without the
// operator's approval, unless another edit, which closes, has reduced its losses.
func (e *Edit) decide(n uint64, word, fits, closes bool) bool {
	left := e.Deletions - e.Sent
	if e.State == EditHeld && !word && n == left {
		return false
	}
	fits = fits && (e.State != EditHeld || closes && n < left)
	e.State, e.Deletions = EditHeld, e.Sent+n
	if word || fits {
		e.State, e.Sent = EditSent, e.Deletions
	}
	return true
}

// sendEdit carries out the counted losses of an edit; there may be more by now. It leaves URLs that wait to their
// visit.
func (d *Owner) sendEdit(ctx context.Context, is sending) error {
	keys, err := d.selected(ctx, scheduler.DeletionFilter{Edit: is.edit})
	if err != nil {
		return err
	}
	keys = keys[:min(uint64(len(keys)), is.n)]
	if !is.word {
		if err := d.spend(ctx, len(keys)); err != nil {
			return err
		}
	}
	n, err := d.moveAll(ctx, keys, &moving{set: d.f.Settings(), move: scheduler.SendDeletion})
	if n == len(keys) {
		return err
	}
	d.mu.Lock()
	d.edits.due = true
	d.mu.Unlock()
	if !is.word {
		err = errors.Join(err, d.spend(ctx, n-len(keys)))
	}
	return err
}

// spend counts losses of edits before they are carried out: after a crash between the two they count twice.
func (d *Owner) spend(ctx context.Context, n int) error {
	l, err := readLedger(ctx, d.store, spentName)
	if err != nil {
		return err
	}
	now := time.Now()
	l.carriedOut(now, n, 0)
	return l.store(ctx, d.store, spentName, now)
}
