package illness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
)

// Whole hosts that are gone, or have moved.

// goneHost is a host that is taken down.
type goneHost struct {
	kind  Illness
	pages int
}

// name is that of a test of some hosts.
func name(hosts []goneHost) string {
	if len(hosts) == 1 {
		return fmt.Sprintf("%s/%d", hosts[0].kind, hosts[0].pages)
	}
	return fmt.Sprintf("%d hosts", len(hosts))
}

// shortGone is how long a host must be gone in a usual test run.
const shortGone = 12 * 24 * time.Hour

// TestHostGone: what a host had leaves, or is replaced by what it says now, a month after it
// was taken down, and hardly anything of it before. A month costs seconds, so a usual test run
// has several hosts in one crawl, and 12 days instead.
func TestHostGone(t *testing.T) {
	kinds := []Illness{NotFound, NoSuchName, Refused, Parked}
	hosts := []goneHost{{NotFound, 1}}
	var each [][]goneHost
	for _, kind := range kinds {
		hosts = append(hosts, goneHost{kind, 5})
		if wantsAll() {
			for _, pages := range sizes() {
				each = append(each, []goneHost{{kind, pages}})
			}
		}
	}
	for _, hosts := range append(each, hosts) {
		inBubble(t, name(hosts), func(t *testing.T) { takeDown(t, hosts) })
	}
}

func takeDown(t *testing.T, hosts []goneHost) {
	var sites []*Site
	for i, host := range hosts {
		sites = append(sites, newSite(i, host.pages))
	}
	month := goneFor
	if !wantsAll() {
		month = shortGone
	}
	w, want := crawledOf(t, func(s *policy.Settings) { s.Frontier.Deletions.Gone = month }, sites...)
	from := time.Now()
	for i, host := range hosts {
		sites[i].FallIll(host.kind)
	}
	w.refresh(crawl.Selection{All: true})
	time.Sleep(month - 2*beforeIllness) // the month begins with the last good answer
	for i, host := range hosts {
		of := want.below(sites[i].URL(0))
		if n := len(w.index.spoiled(of, from, time.Now())); n > firstDay(host.pages) {
			t.Errorf("%s: %d of %d documents were lost within a month, want at most %d",
				host.kind, n, host.pages, firstDay(host.pages))
		}
	}
	time.Sleep(48*time.Hour + 2*beforeIllness)
	for i, host := range hosts {
		missing, changed, _ := w.index.at(time.Now()).state(want.below(sites[i].URL(0)))
		if len(missing)+len(changed) != host.pages {
			t.Errorf("%s: of %d documents %d left and %d were replaced two days after the month, want all",
				host.kind, host.pages, len(missing), len(changed))
		}
	}
	w.wantNothingUndone()
	w.end()
}

// newSite returns the ith of several sites, at a host of its own.
func newSite(i, pages int) *Site {
	origin := fmt.Sprintf("http://host%d.test", i)
	return New(Options{Documents: pages, Answer: answerTime, Origin: origin, Seed: i + 1})
}

// TestSiteMoves: where all pages answer 301 to their twins at https, at www or in another
// domain, the twins take their places: nothing is pending, the old host is never ill, and no
// page is in the index in neither form.
func TestSiteMoves(t *testing.T) {
	for name, to := range map[string]string{
		"https": "https://" + Host, "www": "http://www." + Host, "domain": "http://new.test",
	} {
		for _, pages := range sizes(1, 2, 16) {
			inBubble(t, fmt.Sprintf("%s/%d", name, pages), func(t *testing.T) {
				names := []string{"www." + Host, "new.test"}
				site := Options{Documents: pages, Answer: answerTime, Names: names}
				w, old := crawledOf(t, nil, New(site))
				w.site.Move(to)
				moved := time.Now()
				w.refresh(crawl.Selection{All: true}) // the home page has to say so at two visits, a day apart
				w.wantNeverIll(25 * time.Hour)
				w.refresh(crawl.Selection{All: true})
				w.wantNeverIll(25 * time.Hour)
				w.wantTwins(old, to)
				if n := w.index.gaps(w.index.lost(old, moved, time.Now()), to); n > 0 {
					t.Errorf("%d pages left before their twins came", n)
				}
				w.wantNothingUndone()
				w.end()
			})
		}
	}
}

// twin returns the same path at another origin.
func twin(url, origin string) string {
	return origin + strings.TrimPrefix(url, "http://"+Host)
}

// wantTwins wants the index to have the twins of documents, and nothing else.
func (w *world) wantTwins(old documents, origin string) {
	w.t.Helper()
	twins := documents{}
	for url, content := range old {
		twins[twin(url, origin)] = content
	}
	missing, changed, strange := w.index.at(time.Now()).state(twins)
	if len(missing)+len(changed)+len(strange) > 0 {
		w.t.Errorf("of %d twins %d are missing (%s), %d changed; %d others are in the index (%s)",
			len(twins), len(missing), some(missing), len(changed), len(strange), some(strange))
	}
}

// gaps counts the documents among the lost whose twin came later, or never.
func (x *index) gaps(lost []order, origin string) (n int) {
	came := x.came()
	for _, o := range lost {
		if at, ok := came[twin(o.url, origin)]; !ok || at.After(o.at) {
			n++
		}
	}
	return n
}

// TestSorryPagesLeave: pages that an illness has put into the index leave when the site is
// well, after a week where they are many.
func TestSorryPagesLeave(t *testing.T) {
	kinds := []Illness{SorryEach}
	if wantsAll() {
		kinds = append(kinds, LoginRedirectEach)
	}
	for _, kind := range kinds {
		for _, pages := range sizes(16) {
			inBubble(t, fmt.Sprintf("%s/%d", kind, pages), func(t *testing.T) {
				w, want := crawled(t, nil, pages)
				w.site.FallIll(kind)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(partIllness)
				w.site.Heal()
				w.wantBack(want)
				w.refresh(crawl.Selection{All: true})
				time.Sleep(held)
				missing, changed, strange := w.index.at(time.Now()).state(want)
				if len(missing)+len(changed)+len(strange) > 0 {
					t.Errorf("%d documents are missing, %d changed; %d others are in the index (%s)",
						len(missing), len(changed), len(strange), some(strange))
				}
				w.wantNothingUndone()
				w.end()
			})
		}
	}
}

// manySites are sites of so many pages each, at hosts of their own.
func manySites(hosts, pages int) []*Site {
	var sites []*Site
	for i := range hosts {
		sites = append(sites, newSite(i, pages))
	}
	return sites
}

// illTogether has many sites fall ill for some hours, which are one group.
func illTogether(t *testing.T, kind Illness, sites []*Site) {
	w, want := crawledOf(t, readRobotsHourly, sites...)
	from := time.Now()
	for _, site := range sites {
		site.FallIll(kind)
	}
	for range 3 {
		w.refresh(crawl.Selection{All: true})
		time.Sleep(partIllness / 3)
	}
	w.wantSpared(want, from)
	for _, site := range sites {
		site.Heal()
	}
	w.wantBack(want)
	w.end()
}

// TestManyHostsBehindOneGate: small sites that fall ill together lose no more than one site does.
func TestManyHostsBehindOneGate(t *testing.T) {
	kinds := []Illness{
		SignOn, NotFound, Noindex, LoginRedirectEach, SoftNotFound, BlockedByRule,
	}
	hosts := 30
	if wantsAll() {
		kinds, hosts = Illnesses(), 150
	}
	for _, kind := range kinds {
		if kind.TLS() {
			continue
		}
		for _, pages := range []int{1, 2} {
			if pages == 1 && kind != SignOn && !wantsAll() {
				continue
			}
			inBubble(t, fmt.Sprintf("%s/%d", kind, pages), func(t *testing.T) {
				illTogether(t, kind, manySites(hosts, pages))
			})
		}
	}
}

// TestOneFolderOfEachHost: nor do those a part of which is ill.
func TestOneFolderOfEachHost(t *testing.T) {
	kinds, hosts := []Illness{FolderFails}, 5
	if wantsAll() {
		kinds, hosts = append(kinds, EverySixthPage), 20
	}
	for _, kind := range kinds {
		inBubble(t, kind.String(), func(t *testing.T) { illTogether(t, kind, manySites(hosts, 49)) })
	}
}

// TestIllnessDoesNotFlap: a host that loses most of its documents, while the others are good,
// falls ill once, whatever the order in which they are asked for.
func TestIllnessDoesNotFlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, good = 60, 20
		w, _ := crawled(t, nil, pages)
		var urls []string
		for i := range pages {
			urls = append(urls, w.site.URL(i))
			if i >= good {
				w.site.Drop(i)
			}
		}
		begun, was := 0, 0
		for begin := time.Now(); len(urls) >= good+10; urls = urls[:len(urls)-10] {
			for _, some := range [][]string{urls[len(urls)-10:], urls[:good]} {
				w.refresh(crawl.Selection{URLs: some})
				for next := time.Now().Add(20 * time.Second); time.Now().Before(next); time.Sleep(time.Second) {
					is := w.ill()
					begun += max(is-was, 0)
					was = is
				}
			}
			if begun > 1 {
				t.Fatalf("the host fell ill %d times in %s", begun, time.Since(begin))
			}
		}
		if begun == 0 {
			t.Error("the host did not fall ill")
		}
		w.end()
	})
}

// TestNeighbourIsIll: a host that is ill holds up no loss of another that is large enough to be
// a group by itself.
func TestNeighbourIsIll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := New(Options{
			Documents: 60, Answer: answerTime, Origin: "http://" + Neighbour, Seed: 1,
		})
		w, want := crawledOf(t, nil, New(Options{Documents: 60, Answer: answerTime}), second)
		from := time.Now()
		w.site.Drop(59)
		second.FallIll(NotFound)
		w.refresh(crawl.Selection{All: true})
		time.Sleep(atOnce)
		w.wantGone(want.below(w.site.URL(0)), from, 59)
		w.wantSpared(want.below(second.URL(0)), from)
		w.end()
	})
}
