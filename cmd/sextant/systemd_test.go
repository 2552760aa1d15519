package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
)

// notifySocket is systemd's end: each message as its variables.
func notifySocket(t *testing.T) (path string, messages <-chan map[string]string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan map[string]string, 1000)
	go func() {
		defer close(out)
		buffer := make([]byte, 4096)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			message := map[string]string{}
			for line := range strings.Lines(string(buffer[:n])) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				message[name] = value
			}
			out <- message
		}
	}()
	t.Cleanup(func() { _ = conn.Close() })
	return path, out
}

// awaitMessage reads until one has the variable.
func awaitMessage(t *testing.T, messages <-chan map[string]string, name string) map[string]string {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case m := <-messages:
			if _, ok := m[name]; ok {
				return m
			}
		case <-deadline:
			t.Fatalf("systemd never got %s", name)
		}
	}
}

const notifyConfig = `<CrawlConfig>
  <Crawler name="notified" nthreads="2" throttleTimeMS="20">
    <Root url="%s"/>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

// TestNotifySystemd receives what systemd would get through start, reloads, and stop.
func TestNotifySystemd(t *testing.T) {
	socket, messages := notifySocket(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "CrawlConfig.xml")
	write := func(text string) {
		t.Helper()
		// Elsewhere first, and renamed: half a file would be reloaded.
		testdir.Write(t, path+".new", text)
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	good := fmt.Sprintf(notifyConfig, testsite.New(t, testsite.Options{Pages: 20000}).URL())
	write(good)
	service := process(t, "run", "--listen=off", "-c", path, "-d", filepath.Join(dir, "data"))
	service.Env = append(service.Env, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=300000")
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	service.Stdout, service.Stderr = out, out
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			log, _ := os.ReadFile(out.Name())
			t.Logf("%s", log)
		}
	}()
	if m := awaitMessage(t, messages, "STATUS"); m["READY"] != "" {
		t.Errorf("it was ready before it was opened: %v", m)
	}
	if m := awaitMessage(t, messages, "READY"); m["READY"] != "1" || !strings.Contains(m["STATUS"], "crawling") {
		t.Errorf("ready: %v", m)
	}
	awaitMessage(t, messages, "WATCHDOG")

	reload := func(want string) {
		t.Helper()
		if err := service.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if m := awaitMessage(t, messages, "RELOADING"); m["RELOADING"] != "1" || len(m["MONOTONIC_USEC"]) < 3 {
			t.Errorf("reloading: %v", m)
		}
		if m := awaitMessage(t, messages, "READY"); !strings.Contains(m["STATUS"], want) {
			t.Errorf("after the reload: %v, want %q", m, want)
		}
	}
	reload("configuration reloaded")
	write(strings.Replace(good, "throttleTimeMS", "throttleTimeMs", 1))
	reload("CrawlConfig.xml:2:")
	write(good)
	reload("configuration reloaded")

	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, messages, "STOPPING")
	awaitMessage(t, messages, "EXTEND_TIMEOUT_USEC")
	if err := service.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	verifyData(t, filepath.Join(dir, "data"))
}

// verifyData wants a store without a fault.
func verifyData(t *testing.T, data string) {
	t.Helper()
	if code, out, errOut := sextant(t, "", "verify", "-d", data); code != exitOK {
		t.Errorf("verify: exit %d\n%s%s", code, out, errOut)
	}
}
