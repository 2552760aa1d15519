package admin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
)

// LossWords describes a number of pending losses, including new texts and moves off a target: "1 deletion", "60 new
// texts", "3 deletions, 60 new texts and 2 moves off a target". All output uses it.
func LossWords[N int | uint64](losses, texts, moves N) string {
	texts = min(texts, losses)
	moves = min(moves, losses-texts)
	var parts []string
	if deletions := losses - texts - moves; deletions > 0 || losses == 0 {
		parts = append(parts, Count(deletions, "deletion"))
	}
	if texts > 0 {
		parts = append(parts, Count(texts, "new text"))
	}
	if moves == 1 {
		parts = append(parts, "1 move off a target")
	} else if moves > 1 {
		parts = append(parts, Count(moves, "move")+" off a target")
	}
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// Count returns a number with its noun.
func Count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return humanize.Comma(int64(n)) + " " + thing + "s" //nolint:gosec // no count is so large
}

// LossCounts count pending losses.
type LossCounts struct {
	Pending uint64 `json:"pending"`
	// NewTexts counts those that keep the document in the index, with another text.
	NewTexts uint64 `json:"new_texts,omitempty"`
	// Moves counts those that keep it in the index, but not in each target.
	Moves uint64 `json:"moves,omitempty"`
}

func (n *LossCounts) add(d *scheduler.StoredDeletion) {
	n.Pending++
	if d.Replaces {
		n.NewTexts++
	}
	if d.Reason == scheduler.ReasonTarget {
		n.Moves++
	}
}

// Words describes them.
func (n *LossCounts) Words() string { return LossWords(n.Pending, n.NewTexts, n.Moves) }

// Words describes the decided ones.
func (n *Decided) Words() string {
	moves := n.Moves
	if n.OfEdits > 0 { // they stay
		moves = 0
	}
	return LossWords(n.Deletions, n.NewTexts, moves)
}

// PendingWords describes the pending losses.
func (s *Status) PendingWords() string { return LossWords(s.Outbox.Pending, s.NewTexts, s.Moves) }

// End describes what happens to the document, and when.
func (d *Deletion) End() string {
	switch {
	case d.Replaces:
		return "gets its new text: " + d.Waits()
	case d.Moves:
		return fmt.Sprintf("leaves a target for the source %q: %s", d.Source, d.Waits())
	}
	return "leaves: " + d.Waits()
}

// Seen describes how often visits saw the loss; empty for one that an edit of the rules caused.
func (d *Deletion) Seen() string {
	if d.Edit != 0 {
		return ""
	}
	return "seen by " + Count(d.Visits, "visit") + ", last " + clock.Stamp(d.LastSeen)
}

// Help describes what an operator can do about it.
func (d *Deletion) Help() string {
	switch {
	case d.Edit != 0 && d.Moves:
		return "To remove the document from the target, release the edit: sextant deletions release --edit " + strconv.FormatUint(d.Edit, 10) +
			". Its page is then fetched, or its list read. An item that its feed no longer lists stays. " +
			"To keep it there, revert the edit."
	case d.Edit != 0:
		return "To delete the document, release the edit: sextant deletions release --edit " + strconv.FormatUint(d.Edit, 10) + ". To keep it, revert the edit."
	case d.Replaces:
		return "Release it to index the new text at once. Drop it to keep the old text and fetch the page again."
	}
	return "Release the deletion to delete the document at once. Drop it to keep the document and fetch the page again."
}

// cancels describes how the loss can end without removing the document.
func (d *Deletion) cancels() string {
	switch {
	case d.Edit != 0 && d.Moves:
		return "Until then it is kept current under its old source; reverting the edit cancels the move."
	case d.Edit != 0:
		return "No response of the page changes that; reverting the edit cancels the deletion."
	case d.Replaces:
		return "It is cancelled if the page has its old text again."
	}
	return "A good response of the page cancels it."
}

// adviceOn describes when to release losses of a host.
func adviceOn(losses, texts int) string {
	var parts []string
	if losses > texts {
		parts = append(parts, "the pages are really gone")
	}
	if texts > 0 {
		parts = append(parts, "the new texts are right")
	}
	return "see sextant deletions; release them if " + strings.Join(parts, " and ")
}
