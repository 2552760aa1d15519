package crawl

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
)

// newHosts are as many more hosts as newHost names, which nothing links to.
const newHosts = 12

func newHost(h int) string { return fmt.Sprintf("192.0.2.%d", 100+h) }

// ask has all nodes go by a configuration with these paths of the new hosts as roots, too.
func (f *fleet) ask(paths ...string) {
	f.t.Helper()
	f.settings.Rules.Roots = slices.Clone(f.settings.Rules.Roots)
	for h := range newHosts {
		for _, path := range paths {
			f.settings.Rules.Roots = append(f.settings.Rules.Roots, actionrules.Root{URL: parse(f.t, "http://"+newHost(h)+path), Site: true, Group: "default"})
		}
	}
	for _, n := range f.nodes {
		if !n.dead.Load() {
			f.must(n.Reload(f.t.Context(), f.settings))
		}
	}
}

// awaitAsked waits until a path was asked for at each of the new hosts.
func (f *fleet) awaitAsked(path string) {
	f.t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		asked := 0
		f.mu.Lock()
		for h := range newHosts {
			asked += min(f.visits[newHost(h)+path], 1)
		}
		f.mu.Unlock()
		if asked == newHosts {
			return
		}
		if time.Since(begun) > 10*time.Minute {
			f.t.Fatalf("%s was asked for at %d hosts, want %d", path, asked, newHosts)
		}
	}
}

// TestFleetHandsRobotsOn: who takes a partition over, from a node that handed it over or that died, obeys the robots.txt that is stored for its hosts, and
// does not ask for it again within its time; and waits for the pause since the last request of the node before, as all tests of fleets look at.
func TestFleetHandsRobotsOn(t *testing.T) {
	inFleet(t, 3, func(f *fleet) {
		f.mu.Lock()
		f.pages = map[string]string{"/robots.txt": "User-agent: *\nDisallow: /no/\n"}
		for _, path := range []string{"/first", "/second", "/third", "/no/1", "/no/2", "/no/3"} {
			f.pages[path] = "<title>t</title><p>This is " + path
		}
		f.mu.Unlock()
		f.ask("/first", "/no/1")
		f.awaitAsked("/first")
		for i := range fleetParts {
			f.move(i, f.nodes[(i+1)%3])
		}
		f.ask("/second", "/no/2")
		f.awaitAsked("/second")
		f.kill(f.nodes[1], []*crewNode{f.nodes[0], f.nodes[2]})
		f.ask("/third", "/no/3")
		f.awaitAsked("/third")
		time.Sleep(time.Hour)
		f.mu.Lock()
		defer f.mu.Unlock()
		for h := range newHosts {
			for path, want := range map[string]int{"/robots.txt": 1, "/no/1": 0, "/no/2": 0, "/no/3": 0} {
				if n := f.visits[newHost(h)+path]; n != want {
					t.Errorf("%s of host %d was asked for %d times, want %d", path, h, n, want)
				}
			}
		}
	})
}

// TestFleetHandsRestsOn: deletions that rest go on resting where their partition goes, from a node that hands it over and from one that dies: none leaves
// early, what is gone leaves, and of a host that is ill all is held until it has recovered.
func TestFleetHandsRestsOn(t *testing.T) {
	paths := []string{"/", "/kept/1", "/kept/2", "/kept/3", "/kept/4", "/gone"}
	ill := func(h int) bool { return h%2 == 1 }
	inFleet(t, 3, func(f *fleet) {
		f.settings.Frontier.Brake.Rest = time.Hour
		serve := func(path string, is func(h int) bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for h := range newHosts {
				if delete(f.pages, newHost(h)+path); is(h) {
					f.pages[newHost(h)+path] = "<title>t</title><p>This is " + path + ` <a href="/kept/1">a link</a> <a href="/kept/2">2</a> <a href="/kept/3">3</a> <a href="/kept/4">4</a> <a href="/gone">last</a>`
				}
			}
		}
		refresh := func() {
			t.Helper()
			for h := range newHosts {
				var urls []string
				for _, path := range paths {
					urls = append(urls, "http://"+newHost(h)+path)
				}
				_, err := f.owner[partitioned.Of(newHost(h), fleetParts)].Refresh(f.t.Context(), Selection{URLs: urls, Full: true})
				f.must(err)
			}
		}
		want := func(when string, is func(h int, path string) bool) {
			t.Helper()
			have := f.documents()
			for h := range newHosts {
				for _, path := range paths {
					if there := slices.Contains(have, "http://"+newHost(h)+path); there != is(h, path) {
						t.Errorf("%s: %s of host %d, ill %t: in the index %t", when, path, h, ill(h), there)
					}
				}
			}
		}
		all := func(int, string) bool { return true }
		f.mu.Lock()
		f.pages = map[string]string{}
		f.mu.Unlock()
		for _, path := range paths {
			serve(path, func(int) bool { return true })
		}
		f.ask("/")
		f.awaitAsked("/gone")
		time.Sleep(time.Minute)
		want("crawled", all)

		for _, path := range paths {
			serve(path, func(h int) bool { return !ill(h) && path != "/gone" })
		}
		refresh()
		time.Sleep(10 * time.Minute)
		for i := range fleetParts {
			f.move(i, f.nodes[(i+1)%3])
		}
		time.Sleep(20 * time.Minute)
		f.kill(f.nodes[1], []*crewNode{f.nodes[0], f.nodes[2]})
		time.Sleep(20 * time.Minute)
		want("resting", all)
		time.Sleep(2 * time.Hour)
		held := func(h int, path string) bool { return ill(h) || path != "/gone" }
		want("rested", held)
		for i, at := range f.owner {
			f.move(i, map[*crewNode]*crewNode{f.nodes[0]: f.nodes[2], f.nodes[2]: f.nodes[0]}[at])
		}
		for _, path := range paths {
			serve(path, func(h int) bool { return held(h, path) })
		}
		if testing.Short() {
			return
		}
		time.Sleep(48 * time.Hour) // nobody says a word
		want("recovered", held)
	})
}
