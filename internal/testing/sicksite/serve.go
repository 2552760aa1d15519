package sicksite

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer is what a request gets.
type answer struct {
	status int // 0: 200
	body   string
	header map[string]string
	cut    bool // the body ends too early
	none   bool // there is no answer
}

const (
	loginPath = "/login"
	onePath   = "/welcome"
)

// ServeHTTP answers as the site's health lets it.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.options.Answer > 0 {
		time.Sleep(s.options.Answer)
	}
	s.mu.Lock()
	s.answers++
	ill, nth, toSecure := s.illness, s.answers, s.secure && r.TLS == nil
	s.mu.Unlock()
	var a answer
	switch {
	case "http://"+r.Host == s.options.Elsewhere:
		a = answer{body: notice("Elsewhere", "This is another host, with a page of its own.")}
	case toSecure:
		a = answer{status: http.StatusMovedPermanently, header: map[string]string{"Location": "https://" + r.Host + r.URL.RequestURI()}}
	default:
		a = s.answer(r, ill, nth)
	}
	a.write(w, r)
}

func (a answer) write(w http.ResponseWriter, r *http.Request) {
	if a.none {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.status != http.StatusNotModified {
		length := len(a.body)
		if a.cut {
			length *= 2
		}
		w.Header().Set("Content-Length", strconv.Itoa(length))
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body) // the client may have gone
	if a.cut {
		_ = http.NewResponseController(w).Flush() // or the header would be cut off, too
		panic(http.ErrAbortHandler)
	}
}

// answer is that of an ill site to a request, the nth of all.
func (s *Site) answer(r *http.Request, ill Illness, nth int) answer {
	if a, is := s.wholeSite(r, ill); is {
		return a
	}
	if r.URL.Path == "/robots.txt" {
		rules := ""
		if ill == Disallowed {
			rules = "/"
		}
		return answer{body: "User-agent: *\nDisallow: " + rules + "\n", header: map[string]string{"Content-Type": "text/plain"}}
	}
	i, ok := s.page(r.URL.Path)
	s.mu.Lock()
	ok = ok && !s.gone[r.URL.Path]
	s.mu.Unlock()
	if !ok || ill == EverySecondPage && i%2 == 1 || ill == EverySecondAnswer && nth%2 == 1 {
		return answer{status: http.StatusNotFound, body: notice("Not found", "There is no such page.")}
	}
	return s.pageAnswer(r, ill, i)
}

// pageAnswer is the answer for a page that is there.
func (s *Site) pageAnswer(r *http.Request, ill Illness, i int) answer {
	switch ill {
	case FolderFails:
		if strings.HasPrefix(r.URL.Path, "/annex/") {
			return wholeStatus(http.StatusInternalServerError)
		}
	case HomeElsewhere:
		if i == 0 {
			return redirect(http.StatusFound, s.options.Elsewhere+"/")
		}
	case CutShort:
		return answer{body: s.body(i, ""), cut: true}
	case Noindex:
		return answer{body: s.body(i, `<meta name="robots" content="noindex">`)}
	case NoindexHeader:
		return answer{body: s.body(i, ""), header: map[string]string{"X-Robots-Tag": "noindex"}}
	case OneCanonical:
		return answer{body: s.body(i, `<link rel="canonical" href="/">`)}
	case WrongType:
		return answer{body: s.body(i, ""), header: map[string]string{"Content-Type": SickType}}
	}
	if !s.options.Validators {
		return answer{body: s.body(i, "")}
	}
	etag := fmt.Sprintf(`"page-%d"`, i)
	a := answer{header: map[string]string{"ETag": etag}}
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		a.status = http.StatusNotModified
		return a
	}
	a.body = s.body(i, "")
	return a
}

// wholeSite is the answer of illnesses that no path escapes.
func (s *Site) wholeSite(r *http.Request, ill Illness) (answer, bool) {
	switch ill {
	case Silent:
		return answer{none: true}, true
	case UnavailableAWhile:
		a := wholeStatus(http.StatusServiceUnavailable)
		a.header = map[string]string{"Retry-After": strconv.Itoa(s.options.RetryAfter)}
		return a, true
	case LoginPage:
		return loginPage(), true
	case SessionExpired:
		return answer{body: notice("Session expired", "Your session has expired. Please close all windows of your browser and sign in once more.")}, true
	case LoginRedirect, LoginRedirectEach:
		if r.URL.Path == loginPath {
			return loginPage(), true
		}
		to := loginPath
		if ill == LoginRedirectEach {
			to += "?next=" + r.URL.Path
		}
		return redirect(http.StatusFound, to), true
	case MovedToOne:
		if r.URL.Path == onePath {
			return answer{body: notice("Welcome", "We have a new web site. Begin here, and you will find all that you look for.")}, true
		}
		return redirect(http.StatusMovedPermanently, onePath), true
	case Maintenance:
		return answer{body: notice("Maintenance", "We are working on this site to make it better. Please come back in an hour.")}, true
	case MaintenanceEach:
		text := fmt.Sprintf("We are working on %s. Ask for ticket %s.", r.URL.Path, words(len(r.URL.Path)+sum(r.URL.Path), 30))
		return answer{body: notice("Maintenance", text)}, true
	case SoftNotFound:
		return answer{body: notice("Our company", "Sorry, we cannot find this page. Try the search, or begin at the home page.")}, true
	case Empty:
		return answer{}, true
	}
	status := map[Illness]int{
		Unauthorized: 401, Forbidden: 403, NotFound: 404, Gone: 410, TooMany: 429, Failing: 500, Unavailable: 503,
	}[ill]
	return wholeStatus(status), status > 0
}

func wholeStatus(status int) answer {
	return answer{status: status, body: notice(http.StatusText(status), "This is all that the server has to say.")}
}

func redirect(status int, to string) answer {
	return answer{status: status, header: map[string]string{"Location": to}}
}

func loginPage() answer {
	return answer{body: `<!DOCTYPE html><html><head><title>Sign in</title></head><body><form method="post" action="/session">
<input type="text" name="user"><input type="password" name="password"><input type="submit" value="Sign in"></form></body></html>`}
}

func sum(text string) (n int) {
	for _, c := range text {
		n = n*31 + int(c)
	}
	return n
}
