package report

import (
	"cmp"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

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
	ErrorNoText     = "no_text"    // a document without text, or of a type that nothing reads
	ErrorAppShell   = "app_shell"  // a page that only its scripts fill
	ErrorNoField    = "no_field"   // a page without a field that the configuration looks for
	ErrorRendering  = "rendering"  // the browser failed with a page, or is missing
	ErrorBotWall    = "bot_wall"   // a product for bot management responds in place of the site
	ErrorOther      = "other"
)

// ErrorClasses are all of them.
func ErrorClasses() []string {
	return []string{ErrorDNS, ErrorConnect, ErrorTLS, ErrorTimeout, ErrorAddress, ErrorProtocol, ErrorRedirect, ErrorLogin,
		ErrorClient, ErrorServer, ErrorRobots, ErrorTooLarge, ErrorUnreadable, ErrorNoText, ErrorAppShell, ErrorNoField, ErrorRendering, ErrorBotWall, ErrorOther}
}

// errorClass returns the class of a URL's error, or "".
func errorClass(r *scheduler.Record) string { return ErrorClassOf(r.Class, r.Reason) }

// ErrorClassOf returns the class of the error of a URL of a class, for a reason; "" if
// nothing is.
func ErrorClassOf(c scheduler.Class, r scheduler.Reason) string {
	switch c {
	case scheduler.Temporary, scheduler.Permanent:
		return failureClass(r)
	case scheduler.Ignored, scheduler.OK, scheduler.Pending:
		switch class := failureClass(r); class {
		case ErrorAddress, ErrorRobots, ErrorTooLarge, ErrorUnreadable, ErrorNoText, ErrorAppShell, ErrorNoField, ErrorBotWall:
			return class
		}
	case scheduler.Redirect:
		if r == scheduler.ReasonBadRedirect {
			return ErrorRedirect
		}
	}
	return ""
}

// failureClasses are the error classes by reason. It is constant. Other reasons belong to ErrorOther.
var failureClasses = [...]string{
	scheduler.ReasonDNS:               ErrorDNS,
	scheduler.ReasonConnect:           ErrorConnect,
	scheduler.ReasonTLS:               ErrorTLS,
	scheduler.ReasonTimeout:           ErrorTimeout,
	scheduler.ReasonAddress:           ErrorAddress,
	scheduler.ReasonBadRedirect:       ErrorRedirect,
	scheduler.ReasonProtocol:          ErrorProtocol,
	scheduler.ReasonLogin:             ErrorLogin,
	scheduler.ReasonNotFound:          ErrorClient,
	scheduler.ReasonClientError:       ErrorClient,
	scheduler.ReasonServerError:       ErrorServer,
	scheduler.ReasonRobots:            ErrorRobots,
	scheduler.ReasonRobotsUnreachable: ErrorRobots,
	scheduler.ReasonTruncated:         ErrorTooLarge,
	scheduler.ReasonUnreadable:        ErrorUnreadable,
	scheduler.ReasonUnreadFile:        ErrorUnreadable,
	scheduler.ReasonNoText:            ErrorNoText,
	scheduler.ReasonAppShell:          ErrorAppShell,
	scheduler.ReasonNoField:           ErrorNoField,
	scheduler.ReasonRendering:         ErrorRendering,
	scheduler.ReasonNoBrowser:         ErrorRendering,
	scheduler.ReasonReader:            ErrorUnreadable,
	scheduler.ReasonBotWall:           ErrorBotWall,
}

// failureClass returns the class of an error.
func failureClass(r scheduler.Reason) string {
	if int(r) < len(failureClasses) {
		return cmp.Or(failureClasses[r], ErrorOther)
	}
	return ErrorOther
}

// errorSince returns when a URL's error began, as far as known.
func errorSince(r *scheduler.Record) time.Time {
	return cmp.Or(r.FirstErrorAt, r.ClassAt, r.FetchedAt, r.FoundAt).UTC()
}
