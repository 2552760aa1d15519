package auth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher"
)

// maxBody is the number of bytes read from a log-in's response.
const maxBody = 1 << 20

// read is a response whose body was read up to maxBody.
type read struct {
	*http.Response
	body []byte
	cut  bool
}

// send makes a request of a log-in with the jar's cookies, stores those of the response, and reads its body. The error
// contains no secret.
func (s *Session) send(ctx context.Context, req *http.Request) (*read, error) {
	addCookies(req, s.jar.Cookies(req.URL))
	resp, err := s.settings.Do(ctx, req)
	if err != nil {
		return nil, s.scrub(err, req.URL)
	}
	defer resp.Body.Close()
	s.jar.SetCookies(req.URL, resp.Cookies())
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, s.scrub(err, req.URL)
	}
	return &read{Response: resp, body: body[:min(len(body), maxBody)], cut: len(body) > maxBody}, nil
}

// drain reads the short rest of a body, so that its connection is reused; with a longer rest the connection is closed.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// scrub removes from an error of a request for u the URL with its query, which errors often contain, and all secrets.
func (s *Session) scrub(err error, u *url.URL) error {
	if outer, ok := errors.AsType[*fetcher.Error](err); ok {
		err = outer.Err
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	words := strings.ReplaceAll(err.Error(), u.String(), place(u))
	if u.RawQuery != "" {
		words = strings.ReplaceAll(words, u.RawQuery, redacted)
	}
	return errors.New(place(u) + ": " + s.clean(words))
}

// redacted replaces a secret in text.
const redacted = "[redacted]"

// minSecretBytes is the length below which a value is not a secret, such as the "1" of a ticked box: replacing it would
// make error texts unreadable.
const minSecretBytes = 4

// clean removes secrets from text, longest first, because one may contain another.
func (s *Session) clean(words string) string {
	var values []string
	for _, hidden := range s.method.secrets() {
		if v := hidden.Reveal(); len(v) >= minSecretBytes {
			values = append(values, v, url.QueryEscape(v))
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, v := range values {
		words = strings.ReplaceAll(words, v, redacted)
	}
	return tidy(words, 500)
}
