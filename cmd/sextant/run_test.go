package main

import (
	"bytes"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
)

// TestLogAboveProgress: a line of the log takes the place of the terminal's last line, which shows the progress.
func TestLogAboveProgress(t *testing.T) {
	var terminal bytes.Buffer
	terminal.WriteString("2 waiting, 2 unsent")
	slog.New(slog.NewTextHandler(aboveProgress{&terminal}, nil)).Info("host ill")
	if got := terminal.String(); !strings.Contains(got, "2 unsent\r\x1b[Ktime=") || !strings.HasSuffix(got, "\n") {
		t.Errorf("%q", got)
	}
}

// TestPackagedServiceIsAsked: without ./data and --data the service of the package answers, and the command says so.
func TestPackagedServiceIsAsked(t *testing.T) {
	packaged, err := os.MkdirTemp("", "s") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(packaged) })
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	_ = server.Listener.Close()
	if server.Listener, err = net.Listen("unix", admin.SocketPath(packaged)); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	t.Chdir(t.TempDir())
	asked := func(args ...string) (bool, string) {
		t.Helper()
		var said bytes.Buffer
		set := flag.NewFlagSet("", flag.ContinueOnError)
		set.String("data", "./data", "")
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		c := cli.NewContext(newApp(nil, nil, &said), set, nil)
		c.Context = t.Context()
		client, err := dial(c, "", packaged)
		if err != nil {
			t.Error(err)
		}
		return client != nil, said.String()
	}
	if found, said := asked(); !found || said != "./data does not exist: asking the service of "+packaged+"\n" {
		t.Errorf("found %v: %s", found, said)
	}
	if found, said := asked("--data", "data"); found || said != "" {
		t.Errorf("with --data: found %v: %s", found, said)
	}
	if err := os.Mkdir("data", 0o755); err != nil {
		t.Fatal(err)
	}
	if found, said := asked(); found || said != "" {
		t.Errorf("beside ./data: found %v: %s", found, said)
	}
}

// TestCopiesLeft: copies that were not fetched in place of documents that left have an exit code of
// their own; whatever else waits has none.
func TestCopiesLeft(t *testing.T) {
	crawls := []service.CrawlSummary{{NotDone: service.NotDone{Waiting: 3}, Later: service.Later{Timed: 2, Pending: 1}}, {}}
	if err := copiesLeft(crawls); err != nil {
		t.Error(err)
	}
	crawls[1].NotDone.Copies = 1
	f, ok := errors.AsType[*failure](copiesLeft(crawls))
	if want := "documents left the index, but 1 page that should replace them was not fetched yet: run it again"; !ok || f.code != exitLeft || f.Error() != want {
		t.Errorf("%v, want the exit code %d and %q", f, exitLeft, want)
	}
}
