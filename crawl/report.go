package crawl

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// ReportStore is what reports read. They hold no snapshot for long, so what changes
// meanwhile may be in a report or not.
type ReportStore interface {
	scheduler.Store
	// Outlinks calls fn for the links of each page from a key on, in order of keys. fn
	// must not keep them.
	Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error
	// Gone calls fn for what is left of each URL that was forgotten after an error.
	Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error
	// Orders calls fn for the selected orders of the outbox.
	Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error
}

// The words for what is wrong with a 200.
const (
	tooLong        = "longer than maxBodyBytes or maxPDFBytes: the rest is not read"
	cannotRead     = "the page cannot be read: "
	cannotReadFile = "the document cannot be read: "
)

// unreadable says why a document could not be read, "" if it could.
func unreadable(p *extract.Page) string {
	for i := range p.Metas {
		if p.Metas[i].Name == extractionError {
			return cannotReadFile + p.Metas[i].Content
		}
	}
	return ""
}

// The classes of errors, in the order of reports.
const (
	ErrorDNS        = "dns"
	ErrorConnect    = "connect"
	ErrorTLS        = "tls"
	ErrorTimeout    = "timeout"
	ErrorAddress    = "address" // the guard refuses it
	ErrorProtocol   = "protocol"
	ErrorRedirect   = "redirect" // loops, too many, to nowhere
	ErrorLogin      = "login"
	ErrorClient     = "4xx"
	ErrorServer     = "5xx"
	ErrorRobots     = "robots"     // it forbids, or cannot be had
	ErrorTooLarge   = "too_large"  // the rest was not read
	ErrorUnreadable = "unreadable" // a document that is damaged, encrypted or the like
	ErrorOther      = "other"
)

// ErrorClasses are all of them.
func ErrorClasses() []string {
	return []string{ErrorDNS, ErrorConnect, ErrorTLS, ErrorTimeout, ErrorAddress, ErrorProtocol, ErrorRedirect, ErrorLogin,
		ErrorClient, ErrorServer, ErrorRobots, ErrorTooLarge, ErrorUnreadable, ErrorOther}
}

// errorClass is the class of what is wrong with a URL, "" if nothing is.
func errorClass(r *scheduler.Record) string {
	switch r.Class {
	case scheduler.Temporary, scheduler.Permanent:
		return failureClass(r.Reason)
	case scheduler.Ignored, scheduler.OK, scheduler.Pending:
		switch r.Reason {
		case scheduler.ReasonAddress, scheduler.ReasonRobots, scheduler.ReasonRobotsUnreachable,
			scheduler.ReasonTruncated, scheduler.ReasonUnreadable, scheduler.ReasonUnreadFile:
			return failureClass(r.Reason)
		}
	}
	return ""
}

// failureClass is the class of what went wrong.
func failureClass(r scheduler.Reason) string {
	switch r {
	case scheduler.ReasonDNS:
		return ErrorDNS
	case scheduler.ReasonConnect:
		return ErrorConnect
	case scheduler.ReasonTLS:
		return ErrorTLS
	case scheduler.ReasonTimeout:
		return ErrorTimeout
	case scheduler.ReasonAddress:
		return ErrorAddress
	case scheduler.ReasonBadRedirect:
		return ErrorRedirect
	case scheduler.ReasonProtocol:
		return ErrorProtocol
	case scheduler.ReasonLogin:
		return ErrorLogin
	case scheduler.ReasonNotFound, scheduler.ReasonClientError:
		return ErrorClient
	case scheduler.ReasonServerError:
		return ErrorServer
	case scheduler.ReasonRobots, scheduler.ReasonRobotsUnreachable:
		return ErrorRobots
	case scheduler.ReasonTruncated:
		return ErrorTooLarge
	case scheduler.ReasonUnreadable, scheduler.ReasonUnreadFile:
		return ErrorUnreadable
	default:
		return ErrorOther
	}
}

// errorSince is when a URL's error began, as far as it is known.
func errorSince(r *scheduler.Record) time.Time {
	return cmp.Or(r.FirstErrorAt, r.ClassAt, r.FetchedAt, r.FoundAt).UTC()
}

// eachRecord calls fn for the selected records, while the store is not being read.
func eachRecord(ctx context.Context, store scheduler.Store, keep func(*scheduler.Record) bool, fn func(weburl.Key, *scheduler.Record) error) error {
	return scheduler.Walk(ctx, store, weburl.Key{}, keep, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			if err := fn(batch[i].Key, &batch[i].Record); err != nil {
				return err
			}
		}
		return nil
	})
}

// errEnough ends a walk over the store.
var errEnough = errors.New("enough was read")

// goneURL is what is left of a URL, under its key.
type goneURL struct {
	key  weburl.Key
	host weburl.HostKey
	scheduler.Gone
}

// eachGone calls fn for what is left of URLs on a host (as Filter.Host names one) that keep
// says true to and that are not known again, while the store is not being read.
func eachGone(ctx context.Context, store ReportStore, host string, keep func(*scheduler.Gone) bool, fn func(*goneURL) error) error {
	var from weburl.Key
	for last := false; !last; {
		var batch []goneURL
		read := 0
		last = true
		err := store.Gone(ctx, from, func(k weburl.Key, g scheduler.Gone) error {
			if len(batch) == scheduler.WalkBatch || read == scheduler.WalkRead {
				from, last = k, false
				return errEnough
			}
			read++
			if !keep(&g) {
				return nil
			}
			if u, ok := weburl.FromCanonical(g.URL); ok && isOn(host, u.Origin(), g.URL) {
				batch = append(batch, goneURL{k, u.HostKey(), g})
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for i := range batch {
			_, err := store.Lookup(ctx, batch[i].key)
			if errors.Is(err, scheduler.ErrNotFound) {
				err = fn(&batch[i])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
