package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// openSmall opens a service of one Crawler without roots, in a working directory of its own.
func openSmall(t *testing.T, access *admin.AccessSettings) (*Service, error) {
	t.Helper()
	t.Chdir(t.TempDir()) // a socket's path is short
	const text = `<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21"><Crawler name="docs"/></CrawlConfig>`
	testdir.Write(t, config.FileName, text)
	parsed, report, err := config.Load(config.FileName)
	if err != nil || parsed == nil {
		t.Fatal(err, report)
	}
	return Open(t.Context(), Options{
		Path: config.FileName, File: parsed, Crawlers: parsed.Crawlers, Data: "data", Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Access: access,
	})
}

// TestAccessBeforeStores: a certificate that cannot be used is found before a store is
// made, and nothing stays open.
func TestAccessBeforeStores(t *testing.T) {
	_, err := openSmall(t, &admin.AccessSettings{Certificate: "no.pem", Key: "no.key"})
	if err == nil || !strings.Contains(err.Error(), "no.pem") {
		t.Errorf("%v", err)
	}
	if store.Exists(filepath.Join("data", storeFolder)) {
		t.Error("a store was made")
	}
	if _, err := os.Lstat(admin.SocketPath("data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket: %v", err)
	}
}

// TestFewFiles: too few open files end the start before there is a store.
func TestFewFiles(t *testing.T) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	few := unix.Rlimit{Cur: 80, Max: limit.Max}
	err = errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	_, refused := openSmall(t, nil)
	if err = errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
		t.Fatal(err)
	}
	const want = "this process may open 80 files, but its Crawlers require 81: set ulimit -n, or LimitNOFILE= in the systemd unit, to 324 or more"
	if refused == nil || refused.Error() != want || store.Exists(filepath.Join("data", storeFolder)) {
		t.Errorf("%v", refused)
	}
}

// TestOpeningIsSecured: with a certificate the port speaks TLS, and nothing else, from the
// first moment on.
func TestOpeningIsSecured(t *testing.T) {
	t.Chdir(t.TempDir())
	writeCertificate(t, "cert.pem")
	s := &Service{log: slog.New(slog.DiscardHandler), options: Options{Crawlers: make([]config.Crawler, 90)}}
	s.opened.Store(12)
	opened, err := s.openDoor(t.Context(), ".", "127.0.0.1:0", &admin.AccessSettings{Certificate: "cert.pem", Key: "cert.pem"})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it is made here
	for scheme, want := range map[string]int{"https": http.StatusServiceUnavailable, "http": http.StatusBadRequest} {
		answer, err := client.Get(scheme + "://" + s.Address() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", scheme, answer.StatusCode, want)
		}
	}
	if running, err := admin.Dial(t.Context(), ".", ""); running == nil {
		t.Errorf("nobody answers on the socket: %v", err)
	} else if err := running.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "starting: stores are being opened: 12 of 90 are open") {
		t.Errorf("the socket: %v", err)
	}
	opened()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestStoppingIsTold: while a store is still being closed, commands are told so, and no
// second service begins.
func TestStoppingIsTold(t *testing.T) {
	s, err := openSmall(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := s.crawls[0].store
	u, err := weburl.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Add(t.Context(), []scheduler.Link{{URL: u}}, false); err != nil {
		t.Fatal(err)
	}
	reading, enough, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { // a reader that takes its time keeps the store from closing
		read <- store.Inspect(context.Background(), scheduler.Filter{}, func(weburl.Key, scheduler.Record) error {
			close(reading)
			<-enough
			return errors.New("enough")
		})
	}()
	<-reading
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	service, _ := admin.Dial(t.Context(), "data", "")
	for service == nil {
		select {
		case err := <-closed:
			t.Fatalf("the service has closed though its store is being read: %v", err)
		default:
			service, _ = admin.Dial(t.Context(), "data", "")
		}
	}
	if _, err := service.Status(t.Context()); err == nil || err.Error() != "the service is stopping: stores are being closed" {
		t.Errorf("status: %v", err)
	}
	if _, err := listenSocket(t.Context(), "data", s.log); !errors.Is(err, scheduler.ErrLocked) {
		t.Errorf("a second service: %v", err)
	}
	close(enough)
	if err := <-read; err == nil || err.Error() != "enough" {
		t.Errorf("the reader ends with %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if c, err := admin.Dial(t.Context(), "data", ""); c != nil || err != nil {
		t.Error("somebody answers after the end")
	}
}

// writeCertificate writes a certificate of a test server, with its key.
func writeCertificate(t *testing.T, file string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	c := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProfiles: operators read Go's profiles at the service's own door; a request without a token is refused.
func TestProfiles(t *testing.T) {
	s, err := openSmall(t, &admin.AccessSettings{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context(), crawl.Once{}) }()
	client, err := admin.Dial(t.Context(), "data", "")
	if client == nil {
		t.Fatal(err)
	}
	for client.Ready(t.Context()) != nil {
		runtime.Gosched()
	}
	answer, err := client.Ask(t.Context(), http.MethodGet, "/debug/pprof/goroutine", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer, err = http.Get("http://" + s.Address() + "/debug/pprof/goroutine"); err != nil { //nolint:noctx // a test
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", answer.Status)
	}
	s.Stop()
	if err := errors.Join(<-ended, s.Close()); err != nil {
		t.Error(err)
	}
}
