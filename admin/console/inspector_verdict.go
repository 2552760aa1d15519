package console

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/push"
)

// verdict says in words whether a URL is in the index, why, and what to do.
type verdict struct {
	Kind  string // good, warn or bad
	Head  string
	Since *time.Time
	// Why are sentences; Do are what helps, the first the best.
	Why []string
	Do  []advice
}

// advice is what somebody can do, perhaps on another page.
type advice struct {
	Words, Path, Link string
}

func (r *verdict) why(format string, args ...any) {
	r.Why = append(r.Why, fmt.Sprintf(format, args...))
}

func (r *verdict) do(words, path, link string) {
	r.Do = append(r.Do, advice{words, path, link})
}

// judge words what the service knows of the URL.
func (d *inspected) judge(v *visit) verdict {
	if d.Stored != nil && d.Stored.Indexed {
		return d.judgeIndexed(v)
	}
	r := verdict{Kind: "warn", Head: "Not in the index"}
	switch {
	case d.Explained.ExcludedBy != nil:
		d.judgeExcluded(v, &r)
	case d.Stored == nil:
		r.why("It is not known: no page with a link to it was read yet, or it was removed. Rules and gates would let it in.")
		if v.caller.Role >= admin.Operator {
			r.do("Have it fetched soon with the button Add below.", "", "")
		}
		r.do("Link to it from a page that is crawled.", "", "")
	default:
		d.judgeStored(v, &r)
	}
	if o := d.order(); o != nil && o.Op == "delete" {
		r.judgeDeletion(v, o)
	}
	return r
}

// judgeDeletion tells of a deletion that did not reach every indexer.
func (r *verdict) judgeDeletion(v *visit, o *admin.OutboxOrder) {
	switch o.State {
	case push.Waiting:
		r.why("The deletion of its document waits in the outbox: an indexer may still have it.")
		r.do("If it waits long, see whether an indexer is down.", v.link("/outbox", nil), "Outbox")
	case push.HeldBack:
		r.why("The deletion of its document is held: the indexer still has it.")
		r.do("Release the deletion, or drop it.", v.link("/deletions", nil), "Held deletions")
	case push.DeadLetter:
		r.Kind = "bad"
		r.why("The indexer refuses to delete its document, and may still have it. %s says: %s", o.Target, o.Words)
		r.do("Mend what it complains of, then have the deletion sent again.", v.link("/outbox", url.Values{"state": {"dead"}}), "Dead letters")
	}
}

func (d *inspected) order() *admin.OutboxOrder {
	if d.Sent == nil {
		return nil
	}
	return d.Sent.Order
}

// judgeIndexed is for what is in the index, or on its way.
func (d *inspected) judgeIndexed(v *visit) verdict {
	r := verdict{Kind: "good", Head: "In the index"}
	switch {
	case d.Stored.EnteredAt != nil:
		r.Since = d.Stored.EnteredAt
	case d.Stored.ChangedAt != nil:
		r.why("Its document has changed since it entered the index, last on %s.", d.Stored.ChangedAt.Local().Format("2006-01-02 15:04"))
	}
	if o := d.order(); o != nil {
		switch {
		case o.State == push.DeadLetter:
			r.Kind, r.Head, r.Since = "bad", "The indexer refuses its document", nil
			r.why("%s says: %s", o.Target, o.Words)
			r.do("Mend what it complains of, then have it sent again.", v.link("/outbox", url.Values{"state": {"dead"}}), "Dead letters")
		case o.Op == "add":
			r.Kind, r.Head = "warn", "On its way to the index"
			r.why("Its newest document waits in the outbox: not every indexer has it safely.")
			r.do("If it waits long, see whether an indexer is down.", v.link("/outbox", nil), "Outbox")
		}
	}
	if x := d.Explained.ExcludedBy; x != nil {
		r.Kind = "warn"
		r.why("But it goes when it is looked at again: %s", because(x))
	}
	if d.Stored.LastError != "" {
		r.why("The last visit: %s", d.Stored.LastError)
	}
	return r
}

// because words what excludes a URL.
func because(x *admin.ExcludedBy) string {
	switch x.Gate {
	case "rules":
		return fmt.Sprintf("%s at %s:%d says Ignore.", x.Rule, filepath.Base(x.File), x.Line)
	case "default":
		return "no rule accepts it."
	}
	return "it is stopped by the " + x.String() + "."
}

func (d *inspected) judgeExcluded(v *visit, r *verdict) {
	x := d.Explained.ExcludedBy
	r.Head += ", because " + because(x)
	r.Head = r.Head[:len(r.Head)-1]
	where, link := "", ""
	if v.may("/rules") {
		where, link = v.link("/rules", nil), "Rules editor"
	}
	switch x.Gate {
	case "rules":
		r.do("If it should be crawled: change that rule, or let a later rule accept it. Try the URL in the editor before you save.", where, link)
	case "default":
		r.do("If it should be crawled: add a rule with Accept that matches it. Try the URL in the editor before you save.", where, link)
	default:
		r.do("If it should be crawled: change what stands at the named place.", where, link)
	}
	if d.Stored == nil {
		r.why("It is not known either: excluded links are not stored.")
	}
}

// judgeStored is for what is known, let in, and not in the index.
func (d *inspected) judgeStored(v *visit, r *verdict) {
	s := d.Stored
	page := func(raw string) string { return v.link("/url", url.Values{"url": {raw}}) }
	switch {
	case d.Explained.KilledBy != nil:
		r.Head += ", because the kill list names it"
		r.why("%s", d.Explained.KilledBy)
		r.do("Take it out of the kill list.", "", "")
	case s.Class == "pending" && s.State == "waiting":
		r.Head += " yet: it waits to be fetched"
		r.why("It stands in the queue %s.", s.Fifo)
		r.do("Wait, or see what its host does.", v.link("/hosts", url.Values{"host": {s.URL}}), "Its host")
	case d.Robots == "forbidden":
		r.Head += ", because robots.txt forbids it"
		r.do("Ask the owner of the site to allow this crawler in robots.txt. The URL is asked for again by itself.", "", "")
	case s.DuplicateOf != "":
		r.Head += ", because it is a duplicate"
		r.do("The document stands under the other URL.", page(s.DuplicateOf), "The other URL")
	case s.RedirectTo != "":
		r.Head += ", because it redirects"
		r.do("The document stands under the URL where it leads to.", page(s.RedirectTo), "Where it leads to")
	case s.Class == "temporary":
		r.Head += ", because the last visit failed"
		r.why("%s; %d times in a row. It is tried again by itself.", s.LastError, s.Errors)
		r.do("See with a dry run what the site answers now.", "", "")
	case s.Class == "permanent":
		r.Head += ", because the site does not have it"
		r.why("%s", s.LastError)
		r.do("Mend the links to it, or the site; then have it fetched again.", "", "")
	case slices.Contains(s.Directives, "noindex"):
		r.Head += ", because the page asks for noindex"
		r.do("Take noindex out of the page's robots meta or its X-Robots-Tag header, then have it fetched again.", "", "")
	case !d.Explained.Index:
		d.judgeNotIndexed(v, r)
	case s.LastError != "":
		r.Head += ": " + cut(s.LastError, maxShown)
		r.do("See with a dry run what the site answers now.", "", "")
	default:
		r.why("It was read, and nothing says why it has no document.")
		r.do("Have it fetched again, or see with a dry run what would be pushed.", "", "")
	}
}

// judgeNotIndexed names the rule that keeps a page out of the index.
func (d *inspected) judgeNotIndexed(v *visit, r *verdict) {
	r.Head += ", because no rule has it indexed"
	for _, rule := range slices.Backward(d.Matched) {
		if slices.Contains(rule.Changed, "index") {
			r.Head = fmt.Sprintf("Not in the index, because rule %d at %s:%d says NoIndex", rule.Index, filepath.Base(rule.File), rule.Line)
			break
		}
	}
	r.why("It is crawled for its links only.")
	link, path := "", ""
	if v.may("/rules") {
		path, link = v.link("/rules", nil), "Rules editor"
	}
	r.do("If it should be found, let a later rule say Index.", path, link)
}
