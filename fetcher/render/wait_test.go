package render

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fakeBrowser answers as Chromium does for one page, whose scripts are a function of the test: it gets each expression
// that the page is asked for, and may send events before it returns the value. One that hangs gives no answer.
type fakeBrowser struct {
	conn net.Conn
	page func(b *fakeBrowser, expression string) (value any, hangs bool)
	got  int // answers to requests of the page
}

func (b *fakeBrowser) event(session, method string, params object) {
	text, _ := json.Marshal(object{"sessionId": session, "method": method, "params": params})
	_, _ = b.conn.Write(append(text, 0))
}

// asks has the page make a request.
func (b *fakeBrowser) asks(id, kind, address string) {
	b.event("s", "Fetch.requestPaused", object{"requestId": id, "frameId": "t", "resourceType": kind,
		"request": object{"url": address, "method": http.MethodGet}})
}

func (b *fakeBrowser) run() {
	r := bufio.NewReader(b.conn)
	for {
		text, err := readMessage(r)
		if err != nil {
			return
		}
		var m struct {
			ID     int
			Method string
			Params struct{ RequestID, Expression string }
		}
		if json.Unmarshal(text, &m) != nil {
			return
		}
		result, hangs := object{}, false
		switch m.Method {
		case "Target.createBrowserContext":
			result["browserContextId"] = "c"
		case "Target.createTarget":
			b.event("", "Target.attachedToTarget", object{"sessionId": "s", "targetInfo": object{"targetId": "t", "type": "page", "browserContextId": "c"}})
			result["targetId"] = "t"
		case "Page.navigate":
			b.asks("main", "Document", "http://a.example/")
		case "Fetch.fulfillRequest":
			if m.Params.RequestID == "main" {
				b.event("s", "Page.loadEventFired", object{})
			} else {
				b.got++
			}
		case "Runtime.evaluate":
			var value any
			value, hangs = b.page(b, m.Params.Expression)
			result["result"] = object{"value": value}
		}
		if !hangs {
			text, _ := json.Marshal(object{"id": m.ID, "result": result})
			_, _ = b.conn.Write(append(text, 0))
		}
	}
}

// renderFake renders a page of the fake browser, where each request takes a second.
func renderFake(t *testing.T, delays func() map[int]time.Duration, page func(b *fakeBrowser, expression string) (any, bool)) (Rendered, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	fake := &fakeBrowser{conn: theirs, page: page}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fake.run()
	}()
	b := &browser{}
	b.pipe = open(ours, ours, b.event)
	defer func() {
		b.pipe.close()
		<-ended
	}()
	tab := newTab(b, newCache(time.Now), Page{URL: "http://a.example/", Status: http.StatusOK, Fetch: func(context.Context, Request) (Answer, error) {
		time.Sleep(time.Second)
		return Answer{Status: http.StatusOK}, nil
	}})
	if delays != nil {
		tab.delays = delays
	}
	return tab.render(t.Context(), 20*time.Second)
}

// TestReadAtRest: a page that asks for more once it is looked at is not read before that is there.
func TestReadAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		out, err := renderFake(t, nil, func(b *fakeBrowser, expression string) (any, bool) {
			if strings.Contains(expression, "requestAnimationFrame") {
				if asked < 3 {
					asked++
					b.asks(fmt.Sprint("more", asked), "XHR", fmt.Sprint("http://a.example/api/", asked))
				}
				return true, false
			}
			return object{"html": fmt.Sprint("read with ", b.got)}, false
		})
		if err != nil || string(out.HTML) != "read with 3" || out.Restless || out.Failed > 0 {
			t.Errorf("%q, %+v, %v", out.HTML, out.Counts, err)
		}
	})
}

// TestTimeOnBusyMachine: the time for which the browser waits for a processor is not the page's, up to ten times its
// own.
func TestTimeOnBusyMachine(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{0: 23 * time.Second, 30 * time.Second: 53 * time.Second, time.Hour: 203 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			first := map[int]time.Duration{1: time.Minute, 2: time.Second}
			all := first
			delays := func() map[int]time.Duration {
				defer func() { all = map[int]time.Duration{1: time.Minute, 2: time.Second + waited, 3: waited / 2} }()
				return all
			}
			began := time.Now()
			_, err := renderFake(t, delays, func(*fakeBrowser, string) (any, bool) { return nil, true })
			if !errors.Is(err, errSlow) || time.Since(began) != want {
				t.Errorf("waited %v: %v after %v, want %v", waited, err, time.Since(began), want)
			}
		})
	}
}
