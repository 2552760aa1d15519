package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The sum was computed with: printf '1700000000.{}\n' | openssl dgst -sha256 -hmac key
func TestSignature(t *testing.T) {
	const want = "t=1700000000,v1=e7b2db2a9191d08b7d95e17269f78ba083729e7bd3bf9be2b82d2f8cd93c86ef"
	if got := Signature(secret.New("key"), time.Unix(1_700_000_000, 5), []byte("{}\n")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func pushTo(t *testing.T, path, answer string, es ...push.Entry) (*http.Request, string, []push.Refusal, error) {
	t.Helper()
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	target, err := New(Settings{Server: wire.Settings{URL: srv.URL + path}})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	refused, err := target.Push(t.Context(), pushtest.Numbered(7, es...))
	return got, string(body), refused, err
}

func TestOnTheWire(t *testing.T) {
	for _, path := range []string{"", "/", "/a/b/", "/a%2Fb?key=x%26y&z="} {
		r, body, refused, err := pushTo(t, path, "", pushtest.Doc("http://h/a", "x"), pushtest.Del("http://h/b"))
		if err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		if want := "/" + strings.TrimPrefix(path, "/"); r.RequestURI != want {
			t.Errorf("%s became %s", want, r.RequestURI)
		}
		want := `{"op":"add","seq":7,"document":{"url":"http://h/a","text":"x","fetched_at":"0001-01-01T00:00:00Z","depth":0}}
{"op":"delete","seq":8,"deletion":{"url":"http://h/b","reason":"404","at":"0001-01-01T00:00:00Z"}}
`
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if r.Header.Get(KeyHeader) != key([]byte(body)) || r.Header.Get(SignatureHeader) != "" || r.Header.Get("Content-Type") != ContentType {
			t.Errorf("headers %v", r.Header)
		}
	}
}

func TestAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"": "", "thanks": "", "[]": "", " {} \n": "", `{"accepted":2}`: "", `{"refused":null}`: "",
		`{"refused":[{"seq":8,"error":"too\nlong"}]}`:          "8 too long",
		`{"refused":[{"seq":7}]}`:                              "7 refused without a reason",
		`{"refused":[{"seq":9,"error":"x"}]}`:                  "error",
		`{"refused":[{"seq":7,"error":"x"},{"seq":7}]}`:        "error",
		`{"refused":"all"}`:                                    "error",
		`{"refused":[`:                                         "error",
		`{"refused":[{"seq":-1,"error":"below what there is"}`: "error",
	} {
		_, _, refused, err := pushTo(t, "/", answer, pushtest.Doc("http://h/a", "x"), pushtest.Del("http://h/b"))
		got := ""
		for _, r := range refused {
			got += strings.TrimSpace(string(rune('0'+r.Seq)) + " " + r.Words)
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", answer, got, err, want)
		}
	}
}

// TestOneOrderStopsNothing: a line that the receiver never answers as it should is refused, and the
// others are taken.
func TestOneOrderStopsNothing(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), "big") {
			_, _ = io.WriteString(w, `{"refused":[`)
		}
	}))
	defer srv.Close()
	target, err := New(Settings{Server: wire.Settings{URL: srv.URL, RetryWait: time.Millisecond, RetryWaitMax: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	refused, err := target.Push(t.Context(), pushtest.Numbered(4, pushtest.Doc("http://h/", "big"), pushtest.Doc("http://h/a", "x")))
	if err != nil || len(refused) != 1 || refused[0].Seq != 4 || !strings.Contains(refused[0].Words, "the response is not JSON") {
		t.Errorf("refused %v, %v", refused, err)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"refused":[{"seq":1,"error":"x"}]}`))
	f.Add([]byte(`{"refused":[{"seq":18446744073709551615}]}`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		refused, err := refusals(answer, []wire.Item{{Entry: push.Entry{Seq: 1}}, {Entry: push.Entry{Seq: 2}}})
		if err == nil && len(refused) > 2 {
			t.Errorf("%d refusals of two", len(refused))
		}
		for _, r := range refused {
			if r.Seq != 1 && r.Seq != 2 || r.Words == "" || len(r.Words) > wire.MaxWords {
				t.Errorf("refusal %+v", r)
			}
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for _, address := range []string{"", "hooks.example.com", "http://ann:pw@h/", "ftp://h/"} {
		if _, err := New(Settings{Server: wire.Settings{URL: address}}); err == nil || strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
