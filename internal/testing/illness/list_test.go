package illness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/scheduler"
)

const listPath = "/list.xml"

// listed is a site with an XML file, the items of which are documents and lie on some hosts.
type listed struct {
	*world
	hosts int
	items []int
}

// newListed has the list crawled; the site itself is no part of the crawl.
func newListed(t *testing.T, hosts, items int) (*listed, documents) {
	t.Helper()
	l := &listed{hosts: hosts}
	for i := range items {
		l.items = append(l.items, i)
	}
	site := New(Options{Documents: 1, Answer: answerTime})
	l.world = newWorldOf(t, func(s *policy.Settings) {
		s.Rules.Roots, s.Rules.DefaultAccept, s.Rules.DefaultIndex = nil, true, true
		list := parse(t, "http://"+Host+listPath)
		s.Sources = []policy.Source{{URL: list, Kind: scheduler.KindXML, XML: xmlDocuments(t)}}
	}, site)
	l.write()
	l.begin()
	l.quiet()
	docs := l.index.at(time.Now())
	if len(docs) != items {
		t.Fatalf("the list of %d items has %d documents", items, len(docs))
	}
	time.Sleep(beforeIllness)
	return l, docs
}

func xmlDocuments(t *testing.T) *policy.XMLDocuments {
	t.Helper()
	x := &policy.XMLDocuments{}
	var err error
	for to, text := range map[*feeds.Path]string{&x.Link: "@at", &x.Title: "title", &x.Text: "text"} {
		if *to, err = feeds.ParsePath(text); err != nil {
			t.Fatal(err)
		}
	}
	if x.Path, err = feeds.ElementPath("/list/item"); err != nil {
		t.Fatal(err)
	}
	return x
}

// url is that of an item.
func (l *listed) url(item int) string {
	return fmt.Sprintf("http://items%d.test/%d", item%l.hosts, item)
}

// write puts the list on the site.
func (l *listed) write() {
	var b strings.Builder
	for _, i := range l.items {
		fmt.Fprintf(&b, `<item at="%s"><title>%s</title><text>%s</text></item>`,
			l.url(i), Title(i), Text(i))
	}
	l.site.Put(listPath, "text/xml", "<list>"+b.String()+"</list>")
}

// read has the list asked for.
func (l *listed) read() {
	l.t.Helper()
	l.refresh(crawl.Selection{URLs: []string{"http://" + Host + listPath}})
}

// TestEmptyList: a list that is empty for some hours, or lacks half of its items, loses
// hardly any, whether they lie on one host or on many.
func TestEmptyList(t *testing.T) {
	for _, hosts := range []int{1, 50} {
		for _, stay := range []int{0, 50} {
			t.Run(fmt.Sprintf("%d hosts/%d stay", hosts, stay), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, want := newListed(t, hosts, 100)
					all, from := l.items, time.Now()
					l.items = all[:stay]
					l.write()
					for range 3 {
						l.read()
						time.Sleep(partIllness / 3)
					}
					l.wantSpared(want, from)
					l.items = all
					l.write()
					l.wantBack(want)
					l.end()
				})
			})
		}
	}
}

// TestListReplacesItems: of a list that replaces a share of its items every day the old ones
// leave in a day and an hour.
func TestListReplacesItems(t *testing.T) {
	for _, percent := range []int{1, 8, 15} {
		for _, hosts := range []int{1, 50} {
			if percent == 1 && hosts > 1 && !wantsAll() {
				continue
			}
			t.Run(fmt.Sprintf("%d percent/%d hosts", percent, hosts), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, _ := newListed(t, hosts, 100)
					for day := range 5 {
						before := l.items
						next := before[len(before)-1] + 1
						l.items = slices.Clone(before[percent:])
						for i := range percent {
							l.items = append(l.items, next+i)
						}
						l.write()
						l.read()
						time.Sleep(time.Hour)
						l.wantList(day, before)
						time.Sleep(23 * time.Hour)
					}
					time.Sleep(time.Hour)
					l.wantList(5, l.items)
					l.wantNothingUndone()
					l.end()
				})
			})
		}
	}
}

// wantList wants the index to have the items of the list, and no others except those that it
// had a day before.
func (l *listed) wantList(day int, before []int) {
	l.t.Helper()
	docs := l.index.at(time.Now())
	missing := 0
	for _, i := range l.items {
		if _, ok := docs[l.url(i)]; !ok {
			missing++
		}
	}
	for _, i := range append(slices.Clone(before), l.items...) {
		delete(docs, l.url(i))
	}
	if missing > 0 || len(docs) > 0 {
		l.t.Errorf("day %d: %d of %d items are missing, and %d old ones are still there",
			day, missing, len(l.items), len(docs))
	}
}
