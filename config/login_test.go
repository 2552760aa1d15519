package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// oneFetch reads a configuration with one Fetch.
func oneFetch(attributes string) (*File, Report) {
	text := `<CrawlConfig><Crawler name="a"><Fetch ` + attributes + `><Host val="a"/><Field name="f" value="v"/></Fetch></Crawler></CrawlConfig>`
	return Parse(FileName, []byte(text), Lookups{})
}

// TestLoginOptions: what tells a log-in apart, and how a client names itself.
func TestLoginOptions(t *testing.T) {
	const form, oauth2 = `auth="form" loginURL="https://a/login" `, `auth="oauth2" origins="https://a" tokenURL="https://a/t" clientId="c" clientSecret="s" `
	type options struct {
		Success auth.Success
		Pages   []string
		InBody  bool
	}
	for attributes, want := range map[string]options{
		form: {},
		form + `successRedirect="true" loginPage="https://sso/start"`: {
			Success: auth.Success{Redirect: true}, Pages: []string{"https://sso/start"},
		},
		form + `successText="hello" successCookie="SID"`: {Success: auth.Success{Text: "hello", Cookie: "SID"}},
		oauth2:                              {},
		oauth2 + `credentialsInBody="true"`: {InBody: true},
	} {
		file, report := oneFetch(attributes)
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", attributes, err)
			continue
		}
		var got options
		switch k := file.Crawlers[0].Fetches[0].Login.Kind.(type) {
		case auth.Form:
			got = options{Success: k.Success, Pages: k.LogInPages}
		case auth.OAuth2:
			got.InBody = k.InBody
		}
		if len(got.Pages) == 0 {
			got.Pages = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", attributes, diff)
		}
	}
	for attributes, want := range map[string]string{
		form + `loginPage="sso"`:          "CrawlConfig.xml:1:89: loginPage=\"sso\" is not an absolute URL: write http://host:port or https://host:port\n",
		form + `credentialsInBody="true"`: "CrawlConfig.xml:1:78: credentialsInBody belongs to auth=\"oauth2\": remove it, or write that\n",
		oauth2 + `successRedirect="true"`: "CrawlConfig.xml:1:126: successRedirect belongs to auth=\"form\": remove it, or write that\n",
	} {
		_, report := oneFetch(attributes)
		if diff := cmp.Diff(want, problemLines(report.Errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", attributes, diff)
		}
	}
}
