package console

import (
	"net/url"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// shownAnswer is an admin.Answer for display: whether a URL is in the index, why, and what to do.
type shownAnswer struct {
	Kind  string // good, warn or bad
	Head  string
	Since *time.Time
	// Why are sentences; Do are suggestions, the best first.
	Why []string
	Do  []advice
}

// advice is a suggestion, perhaps with a link.
type advice struct {
	Words, Path, Link string
}

func (r *shownAnswer) why(sentences ...string) { r.Why = append(r.Why, sentences...) }

func (r *shownAnswer) do(words, path, link string) {
	r.Do = append(r.Do, advice{words, path, link})
}

// judge builds the answer to why a URL is, or is not, in the index, with what its newest order in the outbox, the rules
// and robots.txt add to it.
func (d *inspected) judge(v *visit) shownAnswer {
	a := d.Explained.Answer()
	r := shownAnswer{Kind: kindOf(a.Fate), Head: sentence(a.String())}
	if a.Fate == scheduler.FateIndexed {
		r.Since = d.Stored.EnteredAt
		if r.Since == nil && d.Stored.ChangedAt != nil {
			r.why("Its document has changed since it entered the index, last on " + clock.Stamp(*d.Stored.ChangedAt) + ".")
		}
	}
	r.why(a.Notes...)
	d.advise(v, &r, &a)
	if o := d.order(); o != nil {
		r.judgeOrder(v, o)
	}
	return r
}

// kindOf rates a fate: a document that stays only until a pending deletion leaves is not good.
func kindOf(f scheduler.Fate) string {
	if f == scheduler.FateIndexed {
		return "good"
	}
	return "warn"
}

// sentence makes the first letter upper case.
func sentence(words string) string {
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

// advise adds suggestions, for visitors with the rights for them.
func (d *inspected) advise(v *visit, r *shownAnswer, a *admin.Answer) {
	if a.Other != "" {
		r.do("Look at the other URL.", v.link("/url", url.Values{"url": {a.Other}}), "The other URL")
	}
	operator := v.caller.Role >= admin.Operator
	path, link := "", ""
	switch {
	case a.Fate == scheduler.FatePendingLoss:
		path, link = v.link("/deletions", url.Values{"url": {d.Stored.URL}}), "Why it is pending"
		if operator {
			link = "Release or drop it"
		}
	case a.Fate == scheduler.FatePending && d.Stored != nil:
		path, link = v.link("/hosts", url.Values{"host": {d.Stored.URL}}), "Its host"
	case a.Reason.Operators() && v.may("/rules"):
		path, link = d.editor(v)
	}
	switch {
	case operator && a.Help != "":
		r.do(a.Help, path, link)
	case path != "":
		r.do("", path, link)
	}
	if operator && d.Explained.ExcludedBy != nil && (d.Stored == nil || !d.Stored.Indexed && !a.Reason.Operators()) && v.may("/rules") {
		path, link := d.editor(v)
		r.do("To crawl it, change the setting that excludes it.", path, link)
	}
}

// editor returns a link to the line of the configuration that decides about the URL.
func (d *inspected) editor(v *visit) (path, link string) {
	if at := d.place(v); at != "" {
		return at, "Its line in the editor"
	}
	return v.link("/rules", nil), "Configuration"
}

// judgeOrder adds the state of the newest order in the outbox.
func (r *shownAnswer) judgeOrder(v *visit, o *push.Listed) {
	deletion := o.Op == push.Delete
	switch o.State {
	case push.DeadLetter:
		r.Kind, r.Since = "bad", nil
		r.do("", v.link("/outbox", url.Values{"state": {"dead"}}), "Dead letters")
	case push.Waiting:
		if deletion {
			r.why("The deletion of its document is still in the outbox: an indexer may still have it.")
		} else {
			r.Kind = "warn"
			r.why("Its newest document is still in the outbox: not every indexer has stored it safely.")
		}
		r.do("If this takes long, check whether an indexer is down.", v.link("/outbox", nil), "Outbox")
	case push.Pending: // part of the answer already
	}
}

func (d *inspected) order() *push.Listed {
	if d.Sent == nil {
		return nil
	}
	return d.Sent.Order
}
