package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// TestTextsInOldEncodings: texts of the configuration are found in pages of any encoding.
func TestTextsInOldEncodings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logIns, shown := 0, false
		latin := func(w http.ResponseWriter, s string) {
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			_, _ = io.WriteString(w, s)
		}
		site := routes{
			"GET " + origin + "/login": func(w http.ResponseWriter, _ *http.Request) { latin(w, plainForm) },
			"POST " + origin + "/do": func(w http.ResponseWriter, _ *http.Request) {
				logIns++
				latin(w, "Willkommen, J\xfcrgen")
			},
			"GET " + origin + "/a": func(w http.ResponseWriter, _ *http.Request) {
				if !shown {
					shown = true
					latin(w, "Bitte f\xfcr den Zugriff anmelden")
					return
				}
				latin(w, "content")
			},
		}
		s := newSession(t, auth.Settings{Do: inMemory(site)}, auth.Form{
			URL: origin + "/login", Fields: []auth.Field{{Name: "pw", Value: secret.New("password")}},
			Success: auth.Success{Text: "Willkommen, Jürgen"}, LoggedOut: []string{"Bitte für den Zugriff"},
		})
		c := newCrawl(s)
		c.run(t.Context(), 10, pages(t, origin, "/a")...)
		if logIns == 0 || !shown || c.temps+len(c.waits) == 0 {
			t.Errorf("%d log-ins, waits %q; want that the log-in works and its page is known again", logIns, c.waits)
		}
		for _, words := range c.waits {
			if strings.Contains(words, "does not contain the text") {
				t.Error(words)
			}
		}
	})
}

// TestErrorsCanBeRead: short values of fields are not secrets, and of two the longer one
// goes first.
func TestErrorsCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		form := auth.Form{URL: origin + "/login", Fields: []auth.Field{
			{Name: "remember", Value: secret.New("1")}, {Name: "lang", Value: secret.New("on")},
			{Name: "user", Value: secret.New("admin")}, {Name: "pw", Value: secret.New("admin123")},
		}}
		do := func(context.Context, *http.Request) (*http.Response, error) {
			return nil, errors.New("connection 1 refused for admin123")
		}
		c := newCrawl(newSession(t, auth.Settings{Do: do}, form))
		c.run(t.Context(), 2, pages(t, origin, "/a")...)
		if words := fmt.Sprint(c.waits); !strings.Contains(words, "connection 1 refused for [redacted]") || strings.Contains(words, "]in123") || strings.Contains(words, "]123") {
			t.Errorf("words %q", c.waits)
		}
	})
}

// TestCookiesOfOthersTakeNoRoom: what a jar does not take does not count.
func TestCookiesOfOthersTakeNoRoom(t *testing.T) {
	j := auth.NewJar()
	for i := range 200 {
		set(t, j, "https://a.example.com/", fmt.Sprintf("c%d=1; Domain=evil%d.example", i, i))
	}
	set(t, j, "https://a.example.com/x/y", "mine=1; Domain=example.com", "path=1; Domain=example.com; Path=/x")
	if got := sent(t, j, "https://b.example.com/x/y"); !strings.Contains(got, "mine=1") || !strings.Contains(got, "path=1") {
		t.Errorf("sent %q", got)
	}
}
