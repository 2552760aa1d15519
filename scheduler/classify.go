package scheduler

import "net/http"

// answer is what kind of outcome a result is, before the URL's history counts.
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

// classify puts a result into the classes of the manual's "Error Handling".
func classify(r *Result, p Policy) answer {
	switch {
	case r.Excluded != nil:
		return answerExcluded
	case r.Fault == AddressFault:
		return answerGuarded
	case r.Fault != NoFault:
		return classifyFault(r.Fault, p)
	case r.Redirect != nil || r.RedirectIgnored:
		return answerRedirect
	default:
		return classifyStatus(r, p)
	}
}

func classifyFault(f Fault, p Policy) answer {
	switch f {
	case Timeout, Reset, Refused, ShortBody, DNSNoAnswer:
		return answerTemporary
	case TLSFault:
		if p == Cautious {
			return answerTemporary
		}
	}
	return answerPermanent
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

// hostFails says whether a result tells of trouble of the host as a whole, which
// lengthens the pause before its next request.
func hostFails(r *Result) bool {
	switch r.Fault {
	case Timeout, Reset, Refused, DNSNoAnswer, DNSNotFound:
		return true
	case NoFault:
		return r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
	default:
		return false
	}
}
