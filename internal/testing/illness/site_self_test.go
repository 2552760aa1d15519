package illness

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask returns a GET of a site that no network is before.
func ask(s *Site, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, s.options.Origin+path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestAllPagesAreReached goes all links of the healthy site.
func TestAllPagesAreReached(t *testing.T) {
	href := regexp.MustCompile(`href="([^"]+)"`)
	for _, pages := range []int{1, 2, 5, 16, 49, 50, 60, 300, 5000} {
		s := New(Options{Documents: pages})
		seen, texts := map[string]bool{"/": true}, map[string]string{}
		for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
			w := ask(s, queue[0])
			body := w.Body.String()
			text := body[strings.Index(body, "<p>"):strings.Index(body, "</p>")]
			if other, known := texts[text]; known || w.Code != http.StatusOK {
				t.Fatalf("%d pages: %s has status %d, and the text of %q", pages, queue[0], w.Code, other)
			}
			texts[text] = queue[0]
			for _, m := range href.FindAllStringSubmatch(body, -1) {
				if !seen[m[1]] {
					seen[m[1]] = true
					queue = append(queue, m[1])
				}
			}
		}
		section := len(s.Section())
		if len(seen) != pages || pages > 59 && (section < pages/25 || section > pages/15) {
			t.Errorf("%d of %d pages are reached, %d are a section", len(seen), pages, section)
		}
	}
}

func TestValidators(t *testing.T) {
	s := New(Options{Documents: 16, Validators: true})
	etag := ask(s, "/").Header().Get("ETag")
	if w := ask(s, "/", "If-None-Match", etag); etag == "" || w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("ETag %q, then status %d and %d bytes", etag, w.Code, w.Body.Len())
	}
	for _, i := range Illnesses() {
		switch i {
		case Silent, CutShort, Disallowed, EverySecondPage, EverySixthPage, EverySecondAnswer, FolderFails, ExpiredCertificate, NoSuchName, NameServerFails, Refused:
			continue // the home page answers as ever, or not at all
		}
		s.FallIll(i)
		if w := ask(s, "/", "If-None-Match", etag); w.Code == http.StatusNotModified {
			t.Errorf("%s: 304", i)
		}
	}
	s.Heal()
	if w := ask(s, "/", "If-None-Match", etag); w.Code != http.StatusNotModified {
		t.Errorf("well again: %d", w.Code)
	}
}

// TestAnswers wants what each illness answers for two pages, robots.txt and a page that
// was never there.
func TestAnswers(t *testing.T) {
	same := func(of string) string { return strings.Join([]string{of, of, of, of}, " ") }
	for _, tt := range []struct {
		illness Illness
		want    string // status, and what tells it from a page that is well
	}{
		{Healthy, "200 200 200 404"},
		{Unauthorized, same("401")}, {Forbidden, same("403")}, {NotFound, same("404")}, {Gone, same("410")},
		{TooMany, same("429")}, {Failing, same("500")}, {Unavailable, same("503")}, {UnavailableAWhile, same("503+300")},
		{LoginPage, same("200+password")}, {SessionExpired, same("200+notice")},
		{LoginRedirect, same("302+/login")},
		{LoginRedirectEach, "302+/login?next=/ 302+/login?next=/doc/3.html 302+/login?next=/robots.txt 302+/login?next=/never"},
		{MovedToOne, same("301+/welcome")},
		{SignOn, "302+http://elsewhere.test/sign-on/site.test/ 302+http://elsewhere.test/sign-on/site.test/doc/3.html " +
			"302+http://elsewhere.test/sign-on/site.test/robots.txt 302+http://elsewhere.test/sign-on/site.test/never"},
		{SorryEach, "301+/sorry/ 301+/sorry/doc/3.html 301+/sorry/robots.txt 301+/sorry/never"},
		{Challenge, same("200+notice")}, {ContinueToSee, same("200+notice")}, {SoftNotFoundAt, same("200+notice")},
		{Incident, same("200+notice")}, {BlockedByRule, same("200+notice")}, {Parked, same("200+notice")},
		{RandomPages, "200 200 200 200"},
		{Maintenance, same("200+notice")}, {SoftNotFound, same("200+notice")}, {Empty, same("200+empty")},
		{Noindex, "200+noindex 200+noindex 200 404"}, {NoindexHeader, "200+noindex 200+noindex 200 404"},
		{OneCanonical, "200+canonical 200+canonical 200 404"}, {WrongType, "200+type 200+type 200 404"},
		{Disallowed, "200 200 200+disallow 404"},
		{EverySecondPage, "200 404 200 404"}, {HomeElsewhere, "302+http://elsewhere.test/ 200 200 404"},
	} {
		s := New(Options{Documents: 16})
		s.FallIll(tt.illness)
		var got []string
		for _, path := range []string{"/", "/doc/3.html", "/robots.txt", "/never"} {
			got = append(got, sign(ask(s, path)))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.illness, diff)
		}
	}
}

// sign returns an answer's status with what is ill about it.
func sign(w *httptest.ResponseRecorder) string {
	body, sign := w.Body.String(), ""
	switch h := w.Header(); {
	case h.Get("Location") != "":
		sign = "+" + h.Get("Location")
	case h.Get("Retry-After") != "":
		sign = "+" + h.Get("Retry-After")
	case h.Get("X-Robots-Tag") != "", strings.Contains(body, "noindex"):
		sign = "+noindex"
	case h.Get("Content-Type") == SickType:
		sign = "+type"
	case strings.Contains(body, "canonical"):
		sign = "+canonical"
	case strings.Contains(body, `type="password"`):
		sign = "+password"
	case strings.Contains(body, "Disallow: /\n"):
		sign = "+disallow"
	case w.Code == http.StatusOK && body == "":
		sign = "+empty"
	case w.Code == http.StatusOK && strings.Contains(body, "<h1>") && !strings.Contains(body, " about "):
		sign = "+notice"
	}
	return fmt.Sprint(w.Code) + sign
}

// TestPartsAreIll: how much of a site is ill where a part of it is.
func TestPartsAreIll(t *testing.T) {
	for illness, want := range map[Illness][2]int{EverySecondPage: {150, 150}, EverySixthPage: {50, 50}, EverySecondAnswer: {150, 151}, FolderFails: {27, 33}} {
		s := New(Options{Documents: 301})
		s.FallIll(illness)
		ill := 0
		for i := range s.Len() {
			if ask(s, s.Path(i)).Code >= 400 {
				ill++
			}
		}
		if ill < want[0] || ill > want[1] {
			t.Errorf("%s: %d of 301 pages are ill, want %d", illness, ill, want)
		}
	}
	s := New(Options{Documents: 30})
	s.FallIll(MaintenanceEach)
	if a, b := ask(s, "/doc/20.html").Body.String(), ask(s, "/doc/21.html").Body.String(); a == b {
		t.Error("two pages have the same text")
	}
	s.Heal()
	s.Drop(20, 21)
	s.Restore(21)
	if gone, back := ask(s, "/doc/20.html").Code, ask(s, "/doc/21.html").Code; gone != http.StatusNotFound || back != http.StatusOK {
		t.Errorf("a page that is gone answers %d, one that is back %d", gone, back)
	}
	s.Move("https://site.test")
	if w := ask(s, "/doc/20.html"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "https://site.test/doc/20.html" {
		t.Errorf("a moved page answers %d %v", w.Code, w.Header())
	}
	names := map[string]bool{}
	for _, i := range Illnesses() {
		names[i.String()] = true
	}
	if len(names) != int(illnesses)-1 || names[""] {
		t.Errorf("%d names of %d illnesses: %v", len(names), illnesses-1, names)
	}
}

// TestEnds: how pages of a healthy site end, become new, or are files.
func TestEnds(t *testing.T) {
	s := New(Options{Documents: 30, Validators: true, PDF: true})
	for how, want := range map[Illness]string{
		NotFound: "404", Gone: "410", Noindex: "200+noindex", OneCanonical: "200+canonical", MovedToOne: "301+/", Disallowed: "200",
	} {
		s.End(how, 1)
		if got := sign(ask(s, "/list/1.html")); got != want {
			t.Errorf("%s: %s, want %s", how, got, want)
		}
		if excluded := strings.Contains(ask(s, "/robots.txt").Body.String(), "Disallow: /list/1.html\n"); excluded != (how == Disallowed) {
			t.Errorf("%s: robots.txt excludes the page: %t", how, excluded)
		}
	}
	s.Restore(1)
	old := ask(s, "/doc/20.pdf")
	if w := ask(s, "/doc/20.pdf", "If-None-Match", old.Header().Get("ETag")); w.Code != http.StatusNotModified ||
		!strings.HasPrefix(old.Body.String(), PDFHead+s.Title(20)+"\n") || old.Header().Get("Content-Type") != "application/pdf" {
		t.Errorf("a file: %v, %q; once more: %d", old.Header(), old.Body, w.Code)
	}
	s.Live(2)
	s.Redesign()
	if w := ask(s, "/doc/20.pdf", "If-None-Match", old.Header().Get("ETag")); w.Code != http.StatusOK || w.Body.String() == old.Body.String() {
		t.Errorf("a redesign: %d %s", w.Code, w.Body)
	}
	first, second := ask(s, "/list/2.html"), ask(s, "/list/2.html")
	if first.Body.String() == second.Body.String() || !strings.Contains(second.Body.String(), s.Title(2)) {
		t.Error("a live page is not new")
	}
	s.Put("/list.xml", "text/xml", "<list/>")
	if w := ask(s, "/list.xml"); w.Body.String() != "<list/>" || w.Header().Get("Content-Type") != "text/xml" {
		t.Errorf("a file: %v %s", w.Header(), w.Body)
	}
}

// TestServer: a real server falls ill below HTTP, and gets well at its old address.
func TestServer(t *testing.T) {
	s, err := NewServer(Options{Documents: 3}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.Roots())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	get := func() error {
		transport.CloseIdleConnections()
		resp, err := (&http.Client{Transport: transport}).Get(s.Site().URL(1))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	var invalid x509.CertificateInvalidError
	for i, step := range []struct {
		illness Illness
		ok      func(error) bool
	}{
		{Healthy, func(err error) bool { return err == nil }},
		{ExpiredCertificate, func(err error) bool { return errors.As(err, &invalid) && invalid.Reason == x509.Expired }},
		{Refused, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
		{Healthy, func(err error) bool { return err == nil }},
		{CutShort, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
	} {
		s.Site().FallIll(step.illness)
		if err := get(); !step.ok(err) {
			t.Errorf("step %d, %s: %v", i, step.illness, err)
		}
	}
	if s.Site().Answers() < 3 || slices.Contains(Illnesses(), Healthy) {
		t.Errorf("%d answers, illnesses %v", s.Site().Answers(), Illnesses())
	}
}
