package service

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/testing/testpermit"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/wire"
)

// TestCommandsPushUnderPermit: a command that was stopped while another node took its place deletes nothing when it
// wakes up.
func TestCommandsPushUnderPermit(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	settings := papi.Settings{Connector: "web", Server: wire.Settings{URL: server.URL}}
	right := testpermit.New()
	c := &offline{stored: stored{permit: right}}
	index, err := noService{config.Crawler{Push: []config.Push{{Name: "papi", Settings: settings}}}}.IndexOf(c, "")
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	right.Expire()
	_, err = index.Push(t.Context(), []push.Entry{{Seq: 1, Op: push.Delete, URL: "http://a.test/"}})
	if n := requests.Load(); n > 0 || err == nil {
		t.Errorf("%d requests, %v", n, err)
	}
}
