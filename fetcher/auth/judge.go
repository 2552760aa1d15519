package auth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/weburl"
)

// sign describes what a response shows about the session.
type sign uint8

const (
	silent    sign = iota // nothing
	good                  // the page was returned
	renew                 // the server requires a fresh nonce; nothing is refused
	refused               // by this program: the credentials may not go there, or cannot be used there
	unable                // a server that is needed for the request did not respond: retried soon
	denied                // 401, or an equivalent
	forbidden             // 403
	loginPage             // the log-in page in place of the page
)

// answered is the response to a page's request.
type answered struct {
	url  weburl.URL
	resp *fetcher.Response
	sent bool
}

// signOf returns the sign that is common to all kinds.
func (a answered) signOf() sign {
	switch status := a.resp.Status; {
	case status == http.StatusUnauthorized:
		return denied
	case status == http.StatusForbidden:
		return forbidden
	case (status/100 == 2 || status == http.StatusNotModified) && a.sent:
		return good
	}
	return silent
}

// maxDenials is the number of consecutive denied pages after which the session, and not the pages, is considered
// faulty.
const maxDenials = 3

// maxSuspects bounds the remembered denied URLs. A forgotten one is requested once more.
const maxSuspects = 10_000

// suspect is a URL that was denied while the cause was uncertain.
type suspect struct {
	seq   uint64 // number of the last request at the denial: later ones count
	count int    // of denials
}

type suspects map[weburl.Key]suspect

func (all suspects) put(k weburl.Key, s suspect) {
	if _, known := all[k]; !known && len(all) >= maxSuspects {
		for other := range all {
			delete(all, other)
			break
		}
	}
	all[k] = s
}

// Answer is the worker's next action after the response to a page's request.
type Answer struct {
	// Action is Proceed, Return, Wait or Temporary.
	Action Action
	// Until is the time when the URL may be requested again, unless Action is Proceed; zero: at once. Words are the
	// reason.
	Until time.Time
	Words string
}

// Judge evaluates the response to the page's request, and ends the step. err is the error of the fetch; resp is nil
// then. With Proceed the response, or the error, is the page's own: a 401 or 403 with Proceed is permanent.
func (st *Step) Judge(resp *fetcher.Response, err error) Answer {
	s := st.session
	now := time.Now()
	var sg sign
	var why string
	if err != nil || resp == nil {
		sg, why = s.broken(err)
	} else {
		st.answered = true
		sg = s.method.read(answered{url: st.url, resp: resp, sent: st.sent})
		why = wordsOf(sg, resp)
	}
	own := sg == loginPage && s.method.isLogInPage(st.url)

	s.mu.Lock()
	defer s.mu.Unlock()
	defer st.end()
	switch {
	case sg == silent:
		return Answer{Action: Proceed}
	case sg == refused:
		return Answer{Action: Wait, Until: now.Add(s.settings.MaxBackoff), Words: s.settings.Name + ": " + why}
	case sg == unable:
		return Answer{Action: Wait, Until: now.Add(s.settings.MinBackoff), Words: s.settings.Name + ": " + why}
	case own: // it is not content, and shows nothing about the session
		return s.temporary(st.url.Key(), now, "this is the log-in page itself")
	case st.generation != s.generation: // another step logged in again, or is about to
		return Answer{Action: Return}
	case sg == good:
		s.opened(st)
		return Answer{Action: Proceed}
	case sg == renew:
		return Answer{Action: Return}
	}
	return s.deny(st, sg, now, why)
}

// wordsOf describes what was denied and how.
func wordsOf(sg sign, resp *fetcher.Response) string {
	switch {
	case sg == loginPage && resp.Status/100 == 3:
		return fmt.Sprintf("status %d leads to a log-in page", resp.Status)
	case sg == loginPage:
		return fmt.Sprintf("status %d with a log-in page", resp.Status)
	case resp.Status == http.StatusUnauthorized:
		return "status 401; the server offers " + offered(resp.Header)
	}
	return fmt.Sprintf("status %d", resp.Status)
}

// broken reports whether and how the error of a fetch is one of the authentication.
func (s *Session) broken(err error) (sign, string) {
	if ours, ok := errors.AsType[*Error](err); ok {
		return ours.sign, ours.words
	}
	// With TLS 1.3 a server rejects a certificate only after the handshake, and crypto/tls has no
	// type for its alert.
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" && s.method.nature().certificate {
		return denied, "the server rejects the client certificate: " + tidy(alert.Err.Error(), 100)
	}
	return silent, ""
}

// opened records a good response. Its caller holds mu.
func (s *Session) opened(st *Step) {
	if !s.proved || s.resumed {
		s.log.Info("authenticated", "session", s.settings.Name, "kind", s.method.nature().name)
	}
	s.goodSeq = max(s.goodSeq, st.seq)
	s.proved, s.everProved, s.resumed = true, true, false
	s.denials, s.failures, s.words = 0, 0, ""
	if len(s.suspects) > 0 {
		if key := st.url.Key(); s.suspects[key].count > 0 {
			delete(s.suspects, key)
			s.vain = 0
		}
	}
}

// deny decides what follows from a response that denies the page, by the table in the package's documentation. The
// caller holds mu.
func (s *Session) deny(st *Step, sg sign, now time.Time, why string) Answer {
	nature, key := s.method.nature(), st.url.Key()
	old, known := s.suspects[key]
	switch {
	case s.proved && sg == forbidden && !nature.lasting:
		delete(s.suspects, key)
		return Answer{Action: Proceed, Words: why}
	case s.proved && known && s.goodSeq > old.seq: // other pages were opened since, this one was not
		s.vain++
		if sg == loginPage {
			return s.temporary(key, now, "the log-in and other pages work, but "+why)
		}
		delete(s.suspects, key)
		return Answer{Action: Proceed, Words: why}
	}
	s.suspects.put(key, suspect{seq: s.seq, count: old.count + 1})
	s.denials++
	if known && !s.proved { // the log-in was made for it
		s.vain++
	}
	switch {
	case s.proved && nature.renews && (sg != forbidden && s.vain < maxDenials || s.denials > 1):
		s.withdrawProof()
		s.method.reset()
		s.log.Info("logged out", "session", s.settings.Name, "words", why)
		return Answer{Action: Return, Words: why}
	case s.proved:
		if !nature.renews {
			s.withdrawProof()
		}
		return s.waits(now, 1, sg, why)
	case nature.direct && sg == denied && !s.everProved:
		if st.answered {
			why = "the server rejects the credentials: " + why
		}
		s.fail(now, why)
	case s.denials >= maxDenials:
		s.fail(now, fmt.Sprintf("%d pages in a row are denied, the last with %s", s.denials, why))
	case sg == loginPage:
		s.suspects.put(key, suspect{seq: s.seq, count: old.count})
		return s.temporary(key, now, "logged in, but "+why)
	default:
		return s.waits(now, old.count, sg, why)
	}
	// Twice as long as the others, which prove the session if it is good again.
	return Answer{Action: Wait, Until: s.retryAt.Add(s.retryAt.Sub(now)), Words: s.settings.Name + ": " + s.words}
}

// withdrawProof ends the proof: requests in flight no longer show anything. Its caller holds mu.
func (s *Session) withdrawProof() {
	s.generation++
	s.proved = false
}

// waits makes one URL wait. The caller holds mu.
func (s *Session) waits(now time.Time, before int, sg sign, why string) Answer {
	return Answer{
		Action: Wait, Until: now.Add(s.backoff(before)),
		Words: s.settings.Name + ": " + why + "; it is not yet known whether only this page is denied",
	}
}

// temporary returns the answer to a page that shows a log-in page although the log-in succeeded. It waits longer each
// time, and keeps the original time and reason of the suspicion. The caller holds mu.
func (s *Session) temporary(key weburl.Key, now time.Time, why string) Answer {
	old, known := s.suspects[key]
	if !known {
		old.seq = s.seq
	}
	s.suspects.put(key, suspect{seq: old.seq, count: old.count + 1})
	return Answer{
		Action: Temporary, Until: now.Add(s.backoff(old.count)),
		Words: s.settings.Name + ": " + why,
	}
}
