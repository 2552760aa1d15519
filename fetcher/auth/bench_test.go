package auth_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// BenchmarkPage is what a session costs a page of 15 KiB that works.
func BenchmarkPage(b *testing.B) {
	u, err := weburl.Parse(origin + "/ok")
	if err != nil {
		b.Fatal(err)
	}
	body := []byte("<html><form action=/search><input name=q></form>" + strings.Repeat("<p>words of a page</p>", 700))
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	do := func(_ context.Context, req *http.Request) (*http.Response, error) { return answer, nil }
	response := &fetcher.Response{Status: http.StatusOK, Header: http.Header{}, Body: body}
	for _, name := range []string{"basic", "bearer"} {
		b.Run(name, func(b *testing.B) {
			s, err := auth.New(auth.Settings{Origins: []string{origin}, Do: do}, kinds[name])
			if err != nil {
				b.Fatal(err)
			}
			req, err := http.NewRequest(http.MethodGet, u.String(), http.NoBody)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				step := s.Step(u)
				if _, err := step.Do(b.Context(), req); err != nil {
					b.Fatal(err)
				}
				if a := step.Judge(response, nil); a.Action != auth.Proceed {
					b.Fatal(a.Action)
				}
				step.End()
			}
		})
	}
}
