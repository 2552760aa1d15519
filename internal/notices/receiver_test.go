package notices

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/push/webhook"
)

// sample returns a notice whose bytes docs/monitoring.md shows.
func sample() Notice {
	n := Notifier{host: "search-1"}
	since := time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC)
	return n.notice(&Condition{
		Event: Indexer, Crawler: "docs", Subject: "papi", Since: since, Words: "the indexer papi accepts no documents:\nconnection refused",
	}, Resolved, since.Add(90*time.Minute))
}

// TestPayload: the documentation shows what is sent.
func TestPayload(t *testing.T) {
	body, err := json.MarshalIndent(sample(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	docs := testdir.Read(t, filepath.Join("../..", "docs", "monitoring.md"))
	if !strings.Contains(string(docs), string(body)) {
		t.Errorf("docs/monitoring.md does not show\n%s", body)
	}
	for _, e := range Events() {
		if !strings.Contains(string(docs), "| `"+string(e)+"` |") {
			t.Errorf("docs/monitoring.md does not tell of the event %s", e)
		}
	}
}

func TestWebhook(t *testing.T) {
	var bodies, uris []string
	answers := []int{http.StatusServiceUnavailable, http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies, uris = append(bodies, string(body)), append(uris, r.RequestURI)
		seconds, ok := strings.CutPrefix(strings.Split(r.Header.Get(webhook.SignatureHeader), ",")[0], "t=")
		at, err := strconv.ParseInt(seconds, 10, 64)
		if !ok || err != nil || r.Header.Get(webhook.SignatureHeader) != webhook.Signature(secret.New("key"), time.Unix(at, 0), body) {
			t.Errorf("signature %q", r.Header.Get(webhook.SignatureHeader))
		}
		if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get(webhook.KeyHeader) != sample().ID+"-resolved" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		w.WriteHeader(answers[len(bodies)-1])
	}))
	defer server.Close()
	r := Receiver{Webhook: secret.New(server.URL + "/services/a%2Fb?key=1"), Secret: secret.New("key")}
	send, closeIdle, err := r.post(postRetries)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIdle()
	if err := send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(sample())
	if diff := cmp.Diff([]string{string(want), string(want)}, bodies); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if uris[0] != "/services/a%2Fb?key=1" {
		t.Error(uris[0])
	}
}

// TestWebhookAddress: a fragment and an empty query are not part of what is asked for.
func TestWebhookAddress(t *testing.T) {
	var uri string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { uri = r.RequestURI }))
	defer server.Close()
	for written, want := range map[string]string{
		"": "/", "?": "/", "/": "/", "/hook?": "/hook", "/hook#part": "/hook", "/a%2Fb?key=1#part": "/a%2Fb?key=1", "/a?b=c%26d": "/a?b=c%26d",
	} {
		r := Receiver{Webhook: secret.New(server.URL + written)}
		if err := r.once(t.Context(), slog.New(slog.DiscardHandler), sample()); err != nil || uri != want {
			t.Errorf("%q: asked for %q, %v", written, uri, err)
		}
	}
}

// TestWebhookTellsNoSecrets: a refusal names neither the path nor the key.
func TestWebhookTellsNoSecrets(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	r := Receiver{Webhook: secret.New(server.URL + "/hidden?key=hidden")}
	send, closeIdle, err := r.post(postRetries)
	if err != nil {
		t.Fatal(err)
	}
	defer closeIdle()
	err = send(t.Context(), sample())
	if err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "hidden") || strings.Contains(r.name(), "hidden") {
		t.Errorf("%s: %v", r.name(), err)
	}
	server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err = send(ctx, sample()); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Error(err)
	}
}

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tell")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return path
}

// TestCommand: no shell, no secrets of the service, JSON on standard input, and its
// output in the log.
func TestCommand(t *testing.T) {
	t.Setenv("INDEXER_PASSWORD", "hidden")
	path := script(t, `echo "[$1][$2] $SEXTANT_EVENT $SEXTANT_STATE $SEXTANT_CRAWLER $SEXTANT_SUBJECT $INDEXER_PASSWORD"; cat; env >&2`)
	var log strings.Builder
	r := Receiver{Command: []string{path, "$HOME", ";id"}}
	if err := r.run(slog.New(slog.NewTextHandler(&log, nil)))(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(sample())
	for _, want := range []string{`[$HOME][;id] indexer resolved docs papi \n`, strings.ReplaceAll(string(body), `"`, `\"`), `SEXTANT_TEXT=Sextant on search-1: docs: ended after 1h30m0s; it was: `} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "hidden") {
		t.Error("the command has the service's secrets")
	}
}

func TestCommandFails(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for _, r := range []Receiver{{Command: []string{"/none/such"}}, {Command: []string{script(t, "exit 3")}}} {
		if err := r.run(log)(t.Context(), sample()); err == nil {
			t.Errorf("%s did not fail", r.name())
		}
	}
	// One that does not end is killed with its children when its time is over.
	ctx, cancel := context.WithCancel(t.Context())
	pipe := filepath.Join(t.TempDir(), "begun")
	slow := Receiver{Command: []string{script(t, "sleep 1000 & echo >"+pipe+"; wait")}}
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(pipe); err == nil {
				cancel()
			}
		}
	}()
	if err := slow.run(log)(ctx, sample()); err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Error(err)
	}
	cancel()
}

func TestCommandSaysMuch(t *testing.T) {
	var log strings.Builder
	r := Receiver{Command: []string{script(t, "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done")}}
	if err := r.run(slog.New(slog.NewTextHandler(&log, nil)))(t.Context(), sample()); err != nil || log.Len() > 2*maxOutput {
		t.Errorf("%v, %d bytes of log", err, log.Len())
	}
}

// TestTest: a webhook that is down is asked once, and a receiver that takes its time keeps
// no other from being tried.
func TestTest(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	other := filepath.Join(t.TempDir(), "tried")
	n, err := New(Settings{Log: slog.New(slog.DiscardHandler), Receivers: []Receiver{
		{Webhook: secret.New(server.URL)},
		{Command: []string{script(t, "until [ -e "+other+" ]; do sleep 0.01; done")}},
		{Command: []string{script(t, "echo >"+other)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	told, err := n.Test(t.Context())
	if len(told) != 2 || err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("told %v, %v", told, err)
	}
	server.Close()
	if asked != 1 {
		t.Errorf("a webhook that is down was asked %d times", asked)
	}
}
