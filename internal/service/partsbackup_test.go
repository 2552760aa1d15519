package service

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// home is a node's.
func (n *nodes) home(name string) Home {
	o := n.options(name)
	return HomeOf(o.File, o.Crawlers[0], o.Data)
}

// stored are the records in the stores of a home, by URL, and how many orders wait in them.
func (n *nodes) stored(h Home) (all map[string]scheduler.Record, orders int) {
	n.Helper()
	all = map[string]scheduler.Record{}
	err := ReadStore(n.Context(), h, n.options("n1").Log, func(ctx context.Context, s Store) error {
		err := s.Inspect(ctx, scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
			all[r.URL] = r
			return nil
		})
		if err != nil {
			return err
		}
		if err := s.Orders(ctx, push.Selection{}, func(push.Listed) error { orders++; return nil }); err != nil {
			return err
		}
		found, err := s.Verify(ctx, func(f badgerstore.Fault) { n.Error(f.URL, f.Words) })
		if err == nil && found.URLs != uint64(len(all)) {
			n.Errorf("%d URLs verified of %d", found.URLs, len(all))
		}
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
	return all, orders
}

// crawl has a node crawl the whole site, and ends it.
func (f *fleet) crawl(name string) {
	f.Helper()
	stop := f.start(name)
	f.until("all is crawled", func(*cluster.State) bool {
		return f.known(name) >= fleetPages && len(f.indexed()) == fleetPages
	})
	if err := stop(); err != nil {
		f.Fatal(err)
	}
}

// TestPartitionsOnDisk: what a node's copies of partitions say is read without a service, nothing changes them, and nobody takes their folder for an
// empty crawl.
func TestPartitionsOnDisk(t *testing.T) {
	f := newFleet(t)
	f.configure(f.roots(fleetHosts))
	f.divide(2)
	f.crawl("n1")
	h := f.home("n1")
	all, _ := f.stored(h)
	if len(all) != fleetPages+1 { // the root that is none of them
		t.Errorf("%d URLs", len(all))
	}
	homes, err := HomesIn(h.Dir, "")
	if err != nil || len(homes) != 1 {
		t.Errorf("%v, %v", homes, err)
	}
	err = ReadStore(t.Context(), h, f.options("n1").Log, func(ctx context.Context, s Store) error {
		n := 0
		err := report.EachURL(ctx, s, report.Filter{}, func(report.StoredURL) error { n++; return nil })
		if counts, err := s.Counts(ctx); err != nil || counts.Known != uint64(len(all)) || n != len(all) {
			t.Errorf("%+v, %d, %v", counts, n, err)
		}
		if _, err := s.Backup(ctx, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "sextant cluster backup") {
			t.Errorf("a backup: %v", err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	nothing := func(context.Context, Store) error { t.Error("it is open"); return nil }
	o := f.options("n1")
	if err := WithStore(t.Context(), h, StoreOptions(o.Crawlers[0], o.Log), nothing); !errors.Is(err, errParts) {
		t.Errorf("a change: %v", err)
	}
	if _, err := Open(t.Context(), o); !errors.Is(err, errParts) {
		t.Errorf("a crawl of its own: %v", err)
	}
	if err := checkHomes(filepath.Dir(h.Dir), f.options("n1").File.Crawlers); err != nil {
		t.Error(err)
	}
	f.engine = clustertest.NewMemory()
	if err := f.found("n1", ""); !errors.Is(err, errParts) {
		t.Errorf("a cluster of its own: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(h.Store(), "p00")); err != nil {
		t.Fatal(err)
	}
	some, _ := f.stored(h)
	if len(some) == 0 || len(some) >= len(all) {
		t.Errorf("%d of %d URLs are in the partitions that are left", len(some), len(all))
	}
}

// TestPartitionsBackup: a backup of all partitions, made while they are crawled, becomes a cluster that goes on from there; one that is not whole, or
// not of one piece, is refused.
func TestPartitionsBackup(t *testing.T) {
	f := newFleet(t)
	f.configure(f.roots(fleetHosts))
	f.divide(2)
	backup := filepath.Join(f.dir, "backup")
	if _, err := BackupCluster(t.Context(), f.engine, f.token(), backup); err == nil || !strings.Contains(err.Error(), "no node crawls partition p00") {
		t.Errorf("without a node: %v", err)
	}
	stop := f.start("n1")
	f.crawled(fleetPages / 4)
	m, err := BackupCluster(t.Context(), f.engine, f.token(), backup)
	if err != nil {
		t.Fatal(err)
	}
	if m.Format != 2 || len(m.Parts) != fleetParts || m.Parts[fleetParts-1].Entry == 0 || m.Configuration.Number != 1 {
		t.Errorf("%+v", m)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	f.refusals(backup)
	if err := f.restore(backup, "n2"); err != nil {
		t.Fatal(err)
	}
	f.engine = clustertest.NewMemory()
	f.foundFrom(f.home("n2"))
	was, _ := f.stored(f.home("n2"))
	if len(was) < fleetPages/4 {
		t.Errorf("%d URLs in the backup", len(was))
	}
	f.crawl("n2")
	if is, _ := f.stored(f.home("n2")); len(is) != fleetPages+1 {
		t.Errorf("%d URLs in the end", len(is))
	}
}

// TestBackupMeetsAMove: a node that has claimed a partition and has not taken it in yet is waited for; that one is handed over is told in these words.
func TestBackupMeetsAMove(t *testing.T) {
	t.Parallel() // it waits for a silence
	f := newFleet(t)
	f.divide(2)
	stop := f.start("n1")
	f.until("all are crawled", func(s *cluster.State) bool { return owned(s)["n1"] == fleetParts })
	s, err := f.observe()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	config, err := peer.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	n1 := httptest.NewUnstartedServer(peer.Guard(f.token(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked != 3 {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "\x00\x00\x00\x00\x00\x00\x00\x07the store")
	})))
	n1.TLS = config
	n1.StartTLS()
	defer n1.Close()
	s.Nodes[0].Peer = n1.Listener.Addr().String()
	client, path := &peer.Client{Token: f.token()}, filepath.Join(f.dir, "p03.backup")
	b, err := backUpPart(t.Context(), f.engine, client, s, 3, path)
	if text, unread := os.ReadFile(path); err != nil || unread != nil || string(text) != "the store" || b.Entry != 7 || b.Node != "n1" {
		t.Errorf("%q, %+v, %v, %v", text, b, err, unread)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := backUpPart(t.Context(), f.engine, client, s, 3, path+"2"); err == nil || !strings.Contains(err.Error(), "went from n1 to another node meanwhile: try again") {
		t.Errorf("one that was given up: %v", err)
	}
}

// foundFrom makes a cluster of the partitions that lie in n2's data directory.
func (f *fleet) foundFrom(h Home) {
	f.Helper()
	o := f.options("n2")
	founding := Founding{
		Engine: f.engine, Node: "n2", Home: h, Crawler: o.Crawlers[0], From: h.Dir, Token: filepath.Join(f.dir, "token"), Log: o.Log, Replicas: 2,
	}
	with := founding
	with.From = ""
	if _, _, err := FoundCluster(f.Context(), with); err == nil || !strings.Contains(err.Error(), "--from-store") {
		f.Errorf("partitions of a backup that were not named: %v", err)
	}
	with = founding
	with.Partitions = 24
	if _, _, err := FoundCluster(f.Context(), with); err == nil || !strings.Contains(err.Error(), "has 6 partitions") {
		f.Errorf("another number of partitions: %v", err)
	}
	meta, _, err := FoundCluster(f.Context(), founding)
	if err != nil || meta.Partitions != fleetParts {
		f.Fatal(meta, err)
	}
}

// refusals changes copies of a backup, which nobody may restore then.
func (f *fleet) refusals(backup string) {
	f.Helper()
	part := func(dir string, p cluster.Partition) string { return partFile(dir, p) }
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"missing":  {func(dir string) error { return os.Remove(part(dir, 3)) }, "p03.backup"},
		"cut":      {func(dir string) error { return os.Truncate(part(dir, 2), 100) }, "cut short"},
		"mixed":    {func(dir string) error { return os.Rename(part(dir, 1), part(dir, 4)) }, "p0"},
		"unwhole":  {func(dir string) error { return os.Remove(filepath.Join(dir, manifestFile)) }, manifestFile},
		"reworded": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "CrawlConfig.xml"), nil, 0o600) }, "another checksum"},
		"altered": {func(dir string) error {
			text, err := os.ReadFile(part(dir, 5))
			if err == nil {
				text[len(text)/2] ^= 1
				err = os.WriteFile(part(dir, 5), text, 0o600)
			}
			return err
		}, "another checksum"},
		"shortened": {func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, manifestFile))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, manifestFile), bytes.Replace(text, []byte(`"format": 2`), []byte(`"format": 1`), 1), 0o600)
			}
			return err
		}, "altered"},
	} {
		dir := filepath.Join(f.dir, name)
		if err := os.CopyFS(dir, os.DirFS(backup)); err != nil {
			f.Fatal(err)
		}
		if err := c.change(dir); err != nil {
			f.Fatal(err)
		}
		if err := f.restore(dir, "refused"); err == nil || !strings.Contains(err.Error(), c.want) {
			f.Errorf("%s: %v", name, err)
		}
	}
}

// TestSplit: the backup of a crawl that is not divided becomes a crawl over partitions, which knows what that knew and goes on from there.
func TestSplit(t *testing.T) {
	f := newFleet(t)
	f.configure(f.roots(fleetHosts))
	if err := f.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	stop := f.start("n1")
	f.crawled(fleetPages / 3)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	was, orders := f.stored(f.home("n1"))
	file, dir := filepath.Join(f.dir, "one.backup"), filepath.Join(f.dir, "split")
	err := ReadStore(t.Context(), f.home("n1"), f.options("n1").Log, func(ctx context.Context, s Store) error {
		return writeFile(file, func(w io.Writer) error { _, err := s.Backup(ctx, w); return err })
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := SplitBackup(t.Context(), file, dir, fleetParts)
	urls := uint64(0)
	for i := range m.Parts {
		urls += m.Parts[i].URLs
	}
	if err != nil || len(m.Parts) != fleetParts || urls != uint64(len(was)) {
		t.Fatal(m, err)
	}
	f.notSplit(file, dir)
	if err := f.restore(dir, "n2"); err != nil {
		t.Fatal(err)
	}
	is, left := f.stored(f.home("n2"))
	if left != orders || !reflect.DeepEqual(is, was) {
		t.Errorf("%d URLs and %d orders, there were %d and %d", len(is), left, len(was), orders)
	}
	f.engine = clustertest.NewMemory()
	f.foundFrom(f.home("n2"))
	f.crawl("n2")
	after, _ := f.stored(f.home("n2"))
	for url, r := range was {
		if now := after[url]; r.Class == scheduler.OK && !now.FetchedAt.Equal(r.FetchedAt) {
			t.Errorf("%s was known, and is fetched again", url)
		}
	}
}

// notSplit tries what cannot be divided, of which nothing may be left.
func (f *fleet) notSplit(file, split string) {
	f.Helper()
	cut := filepath.Join(f.dir, "cut.backup")
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(cut, b[:len(b)/2], 0o600)
	}
	if err != nil {
		f.Fatal(err)
	}
	for what, c := range map[string]struct {
		from, to string
		n        int
		want     string
	}{
		"divided":      {split, "refused", fleetParts, "over 6 partitions"},
		"there":        {file, "split", fleetParts, "a new folder"},
		"cut":          {cut, "refused", fleetParts, "not a whole backup"},
		"one":          {file, "refused", 1, "from 2 to 24"},
		"no backup":    {filepath.Join(f.dir, "token"), "refused", 2, "not a whole backup"},
		"not there":    {filepath.Join(f.dir, "none"), "refused", 2, "no such file"},
		"empty folder": {f.dir, "refused", 2, manifestFile},
	} {
		_, err := SplitBackup(f.Context(), c.from, filepath.Join(f.dir, c.to), c.n)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			f.Errorf("%s: %v", what, err)
		}
		if _, err := os.Stat(filepath.Join(f.dir, "refused")); err == nil {
			f.Errorf("%s: something is left", what)
		}
	}
}

// TestKeepLetters: who backs up is told of the same time as long as nothing was let go in between, and of a node that is silent.
func TestKeepLetters(t *testing.T) {
	f := newFleet(t)
	f.divide(2)
	stop := f.start("n1")
	f.until("all are crawled", func(s *cluster.State) bool { return owned(s)["n1"] == fleetParts })
	s, err := f.observe()
	if err != nil {
		t.Fatal(err)
	}
	k := keeping{client: &peer.Client{Token: f.token()}, nodes: ownersOf(s), names: map[string]string{}}
	f.does("keep", func() error { return k.ask(t.Context()) })
	first := maps.Clone(k.names)
	if err := k.ask(t.Context()); err != nil || !maps.Equal(first, k.names) || len(first) != 1 {
		t.Errorf("%v, %v, %v", first, k.names, err)
	}
	k.names[slices.Collect(maps.Keys(first))[0]] = "an earlier time"
	if err := k.ask(t.Context()); err == nil || !strings.Contains(err.Error(), "began anew") {
		t.Errorf("another time: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := k.during(t.Context(), func(context.Context) error { t.Error("it is called"); return nil }); err == nil || !strings.Contains(err.Error(), "n1") {
		t.Errorf("a node that is gone: %v", err)
	}
}
