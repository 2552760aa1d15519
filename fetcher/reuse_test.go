package fetcher

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestReuse: a connection outlives the usual pause between two requests, is not kept
// for ever, and many hosts do not push out each other's.
func TestReuse(t *testing.T) { onBoth(t, testReuse) }

func testReuse(t *testing.T, newFetcher maker) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(t, nil)
		dialled := map[string]int{}
		dial := func(_ context.Context, _, hostPort string) (net.Conn, error) {
			client, server := net.Pipe()
			dialled[hostPort]++
			go func() {
				defer func() { _ = server.Close() }()
				for r := bufio.NewReader(server); ; {
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					_, _ = io.WriteString(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}()
			return client, nil
		}
		f.transport.DialContext = dial
		if f.plain != nil {
			f.plain = newPlain(f, dial)
		}
		get := func(host string) {
			if _, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://"+host+"/")}); err != nil {
				t.Fatal(err)
			}
		}
		const hosts = 300
		for range 3 {
			for i := range hosts {
				get("a" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ".test")
			}
			time.Sleep(2500 * time.Millisecond)
		}
		if len(dialled) != hosts || dialled["aaa.test:80"] != 1 {
			t.Errorf("%d hosts, %d connections to one; want %d and 1", len(dialled), dialled["aaa.test:80"], hosts)
		}
		time.Sleep(idleConnectionTime + time.Second)
		get("aaa.test")
		if dialled["aaa.test:80"] != 2 {
			t.Error("a connection was kept for longer than idleConnectionTime")
		}
		f.Close()
		synctest.Wait()
	})
}
