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

// maxBody is how much is read of a log-in's answer.
const maxBody = 1 << 20

// read is an answer whose body was read up to maxBody.
type read struct {
	*http.Response
	body []byte
	cut  bool
}

// send makes a request of a log-in with the jar's cookies, takes those of the
// answer, and reads its body. The error has no secret in it.
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

// drain reads a short rest of a body, so that its connection is used again; what
// is longer costs the connection.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}

// scrub makes words of an error of a request for u: neither the URL that errors
// like to name, with its query, nor a secret.
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

// redacted stands for a secret in words.
const redacted = "[redacted]"

// tellingBytes is how short a value is that is not a secret, such as the "1" of a box that
// is ticked: without it words of errors could not be read any more.
const tellingBytes = 4

// clean takes the secrets out of words, the longest first: one may stand in another.
func (s *Session) clean(words string) string {
	var values []string
	for _, hidden := range s.method.secrets() {
		if v := hidden.Reveal(); len(v) >= tellingBytes {
			values = append(values, v, url.QueryEscape(v))
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, v := range values {
		words = strings.ReplaceAll(words, v, redacted)
	}
	return tidy(words, 500)
}
