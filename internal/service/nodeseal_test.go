package service

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestSealOfAVersion: who can write to the engine and has not the token puts nothing in force, by none of the ways.
func TestSealOfAVersion(t *testing.T) {
	n := newNodes(t)
	stop := n.first()
	n.stand(1, map[string]string{"n1": shared.FileSame})
	other, err := peer.ParseToken(peer.NewToken())
	if err != nil {
		t.Fatal(err)
	}
	for what, seal := range map[string]func(string) string{"no seal": nil, "the seal of another cluster": other.Seal} {
		err := shared.Apply(t.Context(), n.engine, cluster.SystemClock{}, n.times, shared.Proposal{Base: 1, Content: []byte(n.text("docs", "/", "/forged")), By: "nobody", Seal: seal})
		if !errors.Is(err, shared.ErrRefused) || !strings.Contains(err.Error(), "seal of this cluster's token") {
			t.Errorf("%s: %v", what, err)
		}
	}
	epoch := func() (epoch int64) {
		n.until("who crawls is seen", func(s *cluster.State) bool { epoch = s.States[0].Epoch; return true })
		return epoch
	}
	before := epoch()
	active := func() shared.Version {
		t.Helper()
		v, _, err := shared.Active(t.Context(), n.engine)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	// A number that nobody reaches, and the true version with another number.
	if err := shared.Begin(t.Context(), n.engine, cluster.SystemClock{}, active(), shared.Proposal{Base: 1<<62 - 1, Content: []byte(n.text("docs", "/forged"))}); err != nil {
		t.Fatal(err)
	}
	n.stand(2, map[string]string{"n1": shared.FileSame})
	n.forge(active(), 1<<62)
	n.stand(3, map[string]string{"n1": shared.FileSame})
	if now := epoch(); now != before {
		t.Errorf("n1 gave the crawl up: epoch %d, and %d before", now, before)
	}
	wrong := strings.Replace(n.text("docs", "/"), "nthreads", "threads", 1)
	if err := n.apply(strings.Replace(wrong, "<Root", "<Rood", 1), false); err == nil || !strings.Contains(err.Error(), "version 4, CrawlConfig.xml:1:") || strings.Contains(err.Error(), n.config) {
		t.Errorf("a text with an error: %v, want its place in that, not in a node's file", err)
	}
	if err := n.apply(n.text("docs", "/", "/true"), false); err != nil {
		t.Fatal(err)
	}
	n.overview("n1 goes by the version that was applied with the token", func(o *shared.Overview) bool {
		said := o.Of("n1")
		return said != nil && said.Version == 4 && said.Unfit == ""
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	n.forge(active(), 1<<62)
	n.start("n1") // it remembers
	n.stand(5, map[string]string{"n1": shared.FileSame})
	if err := n.apply(n.text("docs", "/", "/true", "/next"), false); err != nil {
		t.Fatal(err)
	}
	n.fetches("/next")
	if _, asked := n.asked.Load("/forged"); asked {
		t.Error("the site was asked for what a forged version names")
	}
}

// forge gives the version in force another number.
func (n *nodes) forge(v shared.Version, number int64) {
	n.Helper()
	v.Number = number
	if out, err := n.engine.Commit(n.Context(), cluster.Step{Then: []cluster.Write{cluster.Put("shared/active", v)}}); err != nil || !out.Taken {
		n.Fatal(out.Taken, err)
	}
}

// TestFilesAreReadAtTakeOver: what the version in force names on a machine, and what its own file lets it name, is as it is when the node takes over,
// not as it was when the version came into force.
func TestFilesAreReadAtTakeOver(t *testing.T) {
	n := newNodes(t)
	with := strings.Replace(n.text("docs", "/1", "/2"), "</Crawler>", `</Crawler><Notify command="/bin/true" on="stop"/>`, 1)
	n.file("n1", with)
	n.file("n2", with)
	rules := func(name, text string) {
		t.Helper()
		n.write(filepath.Join(filepath.Dir(n.own[name]), "crawl.rules"), text)
	}
	rules("n1", "allow domain *\n")
	rules("n2", "allow domain *\nforbid prefix "+n.site+"/2\n")
	n.first()
	n.start("n2")
	n.crawls("n1", 2)
	n.fetches("/2")
	n.stand(1, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
	n.write(n.own["n2"], n.text("docs", "/1", "/2"))
	n.overview("n2 cannot use it: its file names no program any more", func(o *shared.Overview) bool {
		said := o.Of("n2")
		return said != nil && strings.Contains(said.Unfit, "the file on this machine")
	})
	n.write(n.own["n2"], with)
	n.stand(1, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
	rules("n2", "allow domain *\n")
	n.asked.Clear()
	n.handOver("n2")
	client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n2"), "")
	if err != nil || client == nil {
		t.Fatalf("the socket of n2: %v", err)
	}
	n.until("n2 answers", func(*cluster.State) bool { return client.Ready(t.Context()) == nil })
	known, err := client.Knowledge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse(n.site + "/2")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := known.Lookup(u)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprintf("%+v", stored), "crawl.rules") {
		t.Errorf("n2 goes by the crawl.rules that it had before: %+v", stored)
	}
}

// TestCopiesAreCompared: a node that has other files than the one that crawls, of those that the configuration names, is told of, until they are equal,
// and a backup says which files it does not hold.
func TestCopiesAreCompared(t *testing.T) {
	n := newNodes(t)
	with := strings.Replace(n.text("docs", "/1"), "</Crawler>", `<Kill exact="lists/kill.txt"/></Crawler>`, 1)
	put := func(name, path, text string) {
		t.Helper()
		path = filepath.Join(filepath.Dir(n.own[name]), path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		n.write(path, text)
	}
	for _, name := range []string{"n1", "n2"} {
		n.file(name, with)
		put(name, "lists/kill.txt", n.site+"/killed\n")
	}
	put("n2", "crawl.rules", "allow domain *\n")
	n.first()
	n.start("n2")
	n.crawls("n1", 2)
	n.stand(1, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
	client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
	if err != nil || client == nil {
		t.Fatalf("the socket of n1: %v", err)
	}
	told := func(want string) {
		t.Helper()
		n.until("n1 tells: "+want, func(*cluster.State) bool {
			all, err := client.Status(t.Context())
			if err != nil || len(all) != 1 || all[0].Cluster == nil {
				return false
			}
			_, words, _ := strings.Cut(all[0].Cluster.ConfigDiffers, "; ")
			return words == want
		})
	}
	told("n2 has another crawl.rules than n1")
	put("n2", "lists/kill.txt", n.site+"/another\n")
	told("n2 has another crawl.rules, lists/kill.txt than n1")
	put("n1", "crawl.rules", "allow domain *\n")
	put("n1", "lists/kill.txt", n.site+"/another\n")
	told("")
	m, err := BackupCluster(t.Context(), n.engine, n.token(), filepath.Join(t.TempDir(), "backup"))
	if err != nil {
		t.Fatal(err)
	}
	if rules, kill := digestOf([]byte("allow domain *\n")), digestOf([]byte(n.site+"/another\n")); len(m.Files) != 3 || m.Files["crawl.rules"] != rules || m.Files["lists/kill.txt"] != kill || m.Files["global.rules"] != "" {
		t.Errorf("the backup says of files: %v", m.Files)
	}
}

// TestEarlierVersionIsNotTaken: a version that was compiled while a later one came into force does not replace that, and what is
// found of it says nothing of the node.
func TestEarlierVersionIsNotTaken(t *testing.T) {
	n := newNodes(t)
	o := n.options("n1")
	if err := os.MkdirAll(o.Data, 0o750); err != nil {
		t.Fatal(err)
	}
	c := newCommon(&o, &NodeOptions{Name: "n1", Engine: n.engine, times: n.times}, HomeOf(o.File, o.Crawlers[0], o.Data))
	var all []inForce
	for i, text := range []string{n.text("docs", "/"), n.text("docs", "/2")} {
		v := shared.Version{Number: int64(i + 1), ID: fmt.Sprint(i + 1), Sum: digestOf([]byte(text))}
		v.Seal = c.node.Token.Seal(v.Sealed())
		compiled, err := c.compile(t.Context(), v, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, compiled)
	}
	for _, i := range []int{1, 0} {
		if err := c.take(t.Context(), all[i]); err != nil {
			t.Fatal(err)
		}
	}
	c.found(all[0].Version, errors.New("too late"))
	if got := string(c.text()); got != string(all[1].text) || c.Unfit() != "" {
		t.Errorf("in force is %s, unfit: %q", got, c.Unfit())
	}
}
