package illness

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

// Paths that only an ill site has.
const (
	loginPath = "/login"
	onePath   = "/welcome"
	sorryPath = "/sorry"
)

// ServeHTTP answers as the site's health lets it.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.options.Answer > 0 {
		time.Sleep(s.options.Answer)
	}
	s.mu.Lock()
	s.answers++
	ill, nth, moved := s.illness, s.answers, s.origin
	s.mu.Unlock()
	var a answer
	switch {
	case "http://"+r.Host == s.options.Elsewhere:
		a = answer{body: notice("Elsewhere", "This is another host, with a page of its own.")}
	case moved != "" && moved != originOf(r):
		a = redirect(http.StatusMovedPermanently, moved+r.URL.RequestURI())
	default:
		a = s.answer(r, ill, nth)
	}
	a.write(w, r)
}

func originOf(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
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

// answer is that of a site to a request, the nth of all.
func (s *Site) answer(r *http.Request, ill Illness, nth int) answer {
	if a, is := s.wholeSite(r, ill, nth); is {
		return a
	}
	if r.URL.Path == "/robots.txt" {
		return s.robots(ill)
	}
	s.mu.Lock()
	f, isFile := s.files[r.URL.Path]
	s.mu.Unlock()
	if isFile {
		return answer{body: f.body, header: map[string]string{"Content-Type": f.contentType}}
	}
	i, ok := s.page(r.URL.Path)
	if ill == RandomPages {
		i, ok = int((uint64(nth)*0x9E3779B97F4A7C15>>33)%uint64(s.Len())), true
	}
	if !ok || ill == EverySecondPage && i%2 == 1 || ill == EverySixthPage && i%6 == 5 || ill == EverySecondAnswer && nth%2 == 1 {
		return notFound()
	}
	s.mu.Lock()
	ended, isEnded := s.ended[i]
	if _, live := s.live[i]; live {
		s.live[i]++
	}
	s.mu.Unlock()
	if isEnded && ended == NotFound {
		return notFound()
	}
	if isEnded && ended == MovedToOne {
		return redirect(http.StatusMovedPermanently, "/")
	}
	if isEnded {
		ill = ended
	}
	return s.pageAnswer(r, ill, i)
}

func notFound() answer {
	return answer{status: http.StatusNotFound, body: notice("Not found", "There is no such page.")}
}

// robots is robots.txt, which excludes what has ended so.
func (s *Site) robots(ill Illness) answer {
	rules := "User-agent: *\nDisallow: \n"
	if ill == Disallowed {
		rules = "User-agent: *\nDisallow: /\n"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, how := range s.ended {
		if how == Disallowed {
			rules += "Disallow: " + s.Path(i) + "\n"
		}
	}
	return answer{body: rules, header: map[string]string{"Content-Type": "text/plain"}}
}

// pageAnswer returns the answer for a page that is there.
func (s *Site) pageAnswer(r *http.Request, ill Illness, i int) answer {
	switch ill {
	case Gone:
		return wholeStatus(http.StatusGone)
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
	a := answer{header: map[string]string{}}
	if s.isPDF(i) {
		a.header["Content-Type"] = "application/pdf"
	}
	if s.options.Validators && ill != RandomPages {
		s.mu.Lock()
		etag := fmt.Sprintf(`"page-%d-%d"`, i, s.content(i).edition)
		s.mu.Unlock()
		a.header["ETag"] = etag
		if strings.Contains(r.Header.Get("If-None-Match"), etag) {
			a.status = http.StatusNotModified
			return a
		}
	}
	a.body = s.body(i, "")
	return a
}

// wholeSite returns the answer of illnesses that no path escapes.
func (s *Site) wholeSite(r *http.Request, ill Illness, nth int) (answer, bool) {
	if body, ok := apology(ill, r.URL.Path, nth); ok {
		return answer{body: body}, true
	}
	if to, ok := awayFrom(r, ill, s.options.Elsewhere); ok {
		return to, true
	}
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
	case Maintenance:
		return answer{body: notice("Maintenance", "We are working on this site to make it better. Please come back in an hour.")}, true
	case SoftNotFound:
		return answer{body: framedNotice("Our company", "Sorry, we cannot find this page. Try the search, or begin at the home page.")}, true
	case Parked:
		return answer{body: notice("This domain may be for sale", parkedText)}, true
	case Empty:
		return answer{}, true
	}
	status := map[Illness]int{
		Unauthorized: 401, Forbidden: 403, NotFound: 404, Gone: 410, TooMany: 429, Failing: 500, Unavailable: 503,
	}[ill]
	return wholeStatus(status), status > 0
}

// awayFrom returns the answer of illnesses that redirect every path, also that of where they lead to.
func awayFrom(r *http.Request, ill Illness, elsewhere string) (answer, bool) {
	path := r.URL.Path
	switch ill {
	case LoginRedirect, LoginRedirectEach:
		switch {
		case path == loginPath:
			return loginPage(), true
		case ill == LoginRedirect:
			return redirect(http.StatusFound, loginPath), true
		}
		return redirect(http.StatusFound, loginPath+"?next="+path), true
	case SignOn:
		return redirect(http.StatusFound, elsewhere+"/sign-on/"+r.Host+path), true
	case MovedToOne:
		if path == onePath {
			return answer{body: notice("Welcome", "We have a new web site. Begin here, and you will find all that you look for.")}, true
		}
		return redirect(http.StatusMovedPermanently, onePath), true
	case SorryEach:
		if of, is := strings.CutPrefix(path, sorryPath); is {
			text := fmt.Sprintf("The page %s is closed for a while. We are moving %s to another place, and hope to have it back tomorrow. %s.",
				of, words(sum(of), 2), words(sum(of)+1, 8))
			return answer{body: framedNotice("Sorry", text)}, true
		}
		return redirect(http.StatusMovedPermanently, sorryPath+path), true
	}
	return answer{}, false
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
