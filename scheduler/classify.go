package scheduler

import (
	"net/http"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// answer is the class of a result, before the URL's history counts.
type answer uint8

const (
	answerPage      answer = iota // 2xx: a document, or none
	answerUnchanged               // 304 to a conditional GET
	answerRedirect
	answerExcluded  // not fetched: rules, robots.txt, crawl space
	answerGuarded   // address refused by the built-in guard
	answerPermanent // errors
	answerTemporary
)

// classify returns the class of a result, as the manual's "Error Handling" defines it.
func classify(r *Result, p Policy) answer {
	switch {
	case r.Excluded != nil:
		return answerExcluded
	case r.Fault != fault.None:
		return classifyFault(r.Fault, p)
	case r.Redirect != nil || r.RedirectIgnored:
		return answerRedirect
	default:
		return classifyStatus(r, p)
	}
}

func classifyFault(f fault.Fault, p Policy) answer {
	switch f {
	case fault.DNSNotFound, fault.Protocol, fault.TooManyHops, fault.BadRedirect:
		return answerPermanent
	case fault.TLS:
		if p != Cautious {
			return answerPermanent
		}
	case fault.Address, fault.AddressForbidden:
		return answerGuarded
	case fault.None, fault.Timeout, fault.Reset, fault.Refused, fault.ShortBody, fault.DNSNoAnswer, fault.Proxy,
		fault.Render, fault.RenderTimeout, fault.Reading:
	}
	return answerTemporary // an unknown fault deletes nothing
}

func classifyStatus(r *Result, p Policy) answer {
	switch r.Status {
	case http.StatusNotModified:
		if r.Conditional {
			return answerUnchanged
		}
	case http.StatusResetContent, http.StatusPartialContent: // unasked
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return answerTemporary
	case http.StatusServiceUnavailable:
		if r.HasRetryAfter || p == Cautious {
			return answerTemporary
		}
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		if p == Cautious {
			return answerTemporary
		}
	default:
		if 200 <= r.Status && r.Status <= 299 {
			return answerPage
		}
	}
	return answerPermanent
}

// hostFails reports whether a result shows a problem of the whole host, which lengthens the pause before its next
// request.
func hostFails(r *Result) bool {
	switch r.Fault {
	case fault.Timeout, fault.Reset, fault.Refused, fault.DNSNoAnswer, fault.DNSNotFound:
		return true
	case fault.None:
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
	case fault.ShortBody, fault.TLS, fault.Protocol, fault.TooManyHops, fault.BadRedirect, fault.Address, fault.AddressForbidden, fault.Proxy,
		fault.Render, fault.RenderTimeout, fault.Reading:
	}
	return false
}

// showsHostState reports whether a visit with this fault shows the state of the host. It does not if no request reached
// the host, or if this machine failed.
func showsHostState(f fault.Fault) bool {
	switch f {
	case fault.Address, fault.AddressForbidden, fault.Proxy, fault.Reading:
		return false
	case fault.None, fault.Timeout, fault.Reset, fault.Refused, fault.ShortBody, fault.DNSNotFound, fault.DNSNoAnswer, fault.TLS,
		fault.Protocol, fault.TooManyHops, fault.BadRedirect, fault.Render, fault.RenderTimeout: // a server answered
	}
	return true
}
