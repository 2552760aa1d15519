package indexer_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

func TestParseFail(t *testing.T) {
	tests := map[string]indexer.Fail{
		"":  {},
		" ": {},
		"status=503:3,retry-after=2,status=400:1":                          {Status: []indexer.StatusFailure{{503, 3}, {400, 1}}, RetryAfter: 2},
		"die-amid=3,stall=2,garbage=1,lose-answer=4,lose=5,max-bytes=1000": {DieAmid: 3, Stall: 2, Garbage: 1, LoseAnswer: 4, Lose: 5, MaxBytes: 1000},
		"bad=/x, bad=y=z":                        {Bad: []string{"/x", "y=z"}},
		"restart-every=50,die-after=7,slow=1.5s": {RestartEvery: 50, DieAfter: 7, Slow: 1500 * time.Millisecond},
	}
	for text, want := range tests {
		got, err := indexer.ParseFail(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseFailErrorsNameWhatIsAllowed(t *testing.T) {
	tests := map[string]string{
		"sulk":                           "write status=CODE:N, bad=SUBSTRING",
		"stall":                          "from 1",
		"slow=1s,":                       "unknown",
		"status=503":                     "status=CODE:N",
		"status=200:1":                   "from 400 to 599",
		"status=503:0":                   "from 1",
		"status=503:x":                   "whole number",
		"retry-after=2":                  "requires status",
		"retry-after=0,status=503:1":     "from 1",
		"bad=":                           "bad=SUBSTRING",
		"restart-every=-1":               "from 1",
		"die-after=99999999999999999999": "whole number",
		"slow=5":                         "slow=DURATION",
		"slow=-1s":                       "slow=DURATION",
		"slow=1s,slow=2s":                "twice",
	}
	for text, words := range tests {
		if _, err := indexer.ParseFail(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q in it", text, err, words)
		}
	}
}

func FuzzParseFail(f *testing.F) {
	for _, seed := range []string{"", "status=503:3,retry-after=2,bad=x,restart-every=5,die-after=9,slow=10ms", "bad=a,bad=b", "status=:", "=,="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fail, err := indexer.ParseFail(text)
		if err != nil {
			return
		}
		for _, s := range fail.Status {
			if s.Code < 400 || s.Code > 599 || s.Count < 1 {
				t.Errorf("%q: %+v", text, s)
			}
		}
		if fail.Slow < 0 || min(fail.RetryAfter, fail.RestartEvery, fail.DieAfter, fail.DieAmid, fail.Stall, fail.Garbage, fail.Lose, fail.MaxBytes) < 0 {
			t.Errorf("%q: %+v", text, fail)
		}
	})
}

func TestStatusFailures(t *testing.T) {
	fail, err := indexer.ParseFail("status=503:2,status=500:1,retry-after=7")
	if err != nil {
		t.Fatal(err)
	}
	c, _, _ := start(t, t.TempDir(), indexer.Settings{Fail: fail})
	for i, want := range []struct {
		code       int
		retryAfter string
	}{{503, "7"}, {503, "7"}, {500, ""}, {200, ""}} {
		code, _, header := c.do("GET", c.url("get_current_session_id", nil), "", nil)
		if code != want.code || header.Get("Retry-After") != want.retryAfter {
			t.Errorf("command %d: %d, Retry-After %q, want %v", i, code, header.Get("Retry-After"), want)
		}
	}
}

func TestRestartEveryLosesPendingAndSession(t *testing.T) {
	c := open(t, indexer.Settings{Fail: indexer.Fail{RestartEvery: 4}})
	c.must(c.add(page("1", "http://a/synced", "x")...))
	c.sync()
	c.must(c.add(page("1", "http://a/lost", "x")...))
	if code, body := c.post("sync", nil); code != 400 || !strings.Contains(body, "restarted") {
		t.Errorf("fifth command: %d %s", code, body)
	}
	c.readSession()
	status := c.must(c.get("get_documents_status", url.Values{"PAPI_uri": {"http://a/synced", "http://a/lost"}}))
	if want := "http%3A%2F%2Fa%2Fsynced true stamp of 1\nhttp%3A%2F%2Fa%2Flost false \n"; status != want {
		t.Errorf("after the restart %q, want %q", status, want)
	}
}

func TestDieAfterEndsTheProcessWithoutAnAnswer(t *testing.T) {
	exits := make(chan int, 10)
	c, _, _ := start(t, t.TempDir(), indexer.Settings{Fail: indexer.Fail{DieAfter: 2}, Exit: func(code int) { exits <- code }})
	c.must(c.get("ping", nil))
	c.must(c.get("ping", nil))
	if len(exits) != 0 {
		t.Fatal("died early")
	}
	if code, body := c.post("ping", nil); code != 405 {
		t.Errorf("a wrong method is not a command: %d %s", code, body)
	}
	if code, body := c.get("ping", nil); code != 0 {
		t.Errorf("third ping was answered: %d %s", code, body)
	}
	if code := <-exits; code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
}
