package crawl

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRounds: start URLs are asked for again an interval after the last round has ended,
// over restarts too, and pages that they link to newly are found; nothing else is asked for.
func TestRounds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		urls := w.site(hostA, 2)
		w.page(hostA + "/second")
		w.settings.Rounds = time.Hour
		rest := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		asked := func(when string, home int) {
			t.Helper()
			if got := w.hits(hostA + "/"); got != home || w.hits(hostA+"/second") != home {
				t.Errorf("%s: the start URLs were asked for %d and %d times, want %d", when, got, w.hits(hostA+"/second"), home)
			}
		}
		w.begin()
		rest(time.Minute)
		asked("the first round", 1)
		w.page(hostA+"/", "/p000.html", "/p001.html", "/new.html")
		w.page(hostA + "/new.html")
		rest(57 * time.Minute)
		asked("before the interval has passed", 1)
		rest(4 * time.Minute)
		asked("after it", 2)
		if began := w.crawl.LastRound(); began.IsZero() || time.Since(began) > 5*time.Minute {
			t.Errorf("the last round began at %s", began)
		}
		if w.hits(hostA+"/new.html") != 1 || w.hits(urls[1]) != 1 {
			t.Errorf("the new page was asked for %d times, an old one %d times, want 1 and 1", w.hits(hostA+"/new.html"), w.hits(urls[1]))
		}
		rest(28 * time.Minute)
		w.end()
		w.begin()
		rest(25 * time.Minute)
		asked("after a restart", 2)
		rest(10 * time.Minute)
		asked("an interval after the last round before it", 3)
		w.end()
		time.Sleep(5 * time.Hour)
		w.begin()
		rest(time.Minute)
		asked("begun again when one was due", 4)
		rest(30 * time.Minute)
		asked("missed rounds are caught up once", 4)
		w.settings.Rounds = 0
		w.end()
		w.begin()
		rest(3 * time.Hour)
		asked("switched off", 4)
		w.end()
	}, hostA+"/", hostA+"/second")
}

// TestShortRounds: the end of a round is seen when it comes, and the next begins when it is due,
// so that short intervals are kept.
func TestShortRounds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.site(hostA, 2)
		w.page(hostB + "/")
		w.settings.Rounds = 3 * time.Second
		w.begin()
		time.Sleep(31 * time.Second) // the first round, and ten more
		synctest.Wait()
		for _, root := range []string{hostA + "/", hostB + "/"} {
			if n := w.hits(root); n != 11 {
				t.Errorf("%s was asked for %d times in 31 s with rounds every 3 s, want 11", root, n)
			}
		}
		w.end()
	}, hostA+"/", hostB+"/")
}

// TestLongRound: the interval counts from the end of a round, however long it takes.
func TestLongRound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.page(hostA + "/")
		w.page(hostA + "/second")
		w.settings.Frontier.Aggressive = false
		w.settings.Frontier.Throttle = 30 * time.Minute
		w.settings.Rounds = 10 * time.Minute
		w.begin()
		time.Sleep(75 * time.Minute) // robots.txt, then a start URL every half an hour
		synctest.Wait()
		if n := w.hits(hostA+"/") + w.hits(hostA+"/second"); n != 2 {
			t.Errorf("%d requests in the first round, want 2", n)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if n := w.hits(hostA+"/") + w.hits(hostA+"/second"); n != 3 {
			t.Errorf("%d requests when the second has begun, want 3", n)
		}
		w.end()
	}, hostA+"/", hostA+"/second")
}

// TestRoundOnce: a crawl that runs once asks for start URLs again if a round is due, and ends.
func TestRoundOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.page(hostA + "/")
		w.settings.Rounds = time.Minute
		for i, want := range []int{1, 2, 2, 3} {
			w.open()
			if err := w.crawl.Run(t.Context(), Once{Drain: true}); err != nil {
				t.Fatal(err)
			}
			w.close()
			if n := w.hits(hostA + "/"); n != want {
				t.Errorf("run %d: asked for %d times, want %d", i+1, n, want)
			}
			if i != 1 {
				time.Sleep(time.Hour)
			}
		}
	}, hostA+"/")
}
