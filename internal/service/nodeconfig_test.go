package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// overview waits for how the configuration stands.
func (n *nodes) overview(what string, is func(*shared.Overview) bool) {
	n.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		o, err := shared.Look(n.Context(), n.engine)
		if err == nil && is(&o) {
			return
		}
		if time.Since(began) > 2*time.Minute {
			n.Fatalf("%s: not after two minutes: %+v, %v", what, o, err)
		}
	}
}

// stand waits until nodes go by a version, with a file that stands so.
func (n *nodes) stand(version int64, files map[string]string) {
	n.Helper()
	n.overview(fmt.Sprint("version ", version, " with files ", files), func(o *shared.Overview) bool {
		for name, file := range files {
			if said := o.Of(name); said == nil || said.Version != version || said.File != file || said.Unfit != "" {
				return false
			}
		}
		return o.Active.Number == version
	})
}

// fetches waits until the site was asked for a path.
func (n *nodes) fetches(path string) {
	n.Helper()
	n.until("the site is asked for "+path, func(*cluster.State) bool {
		_, asked := n.asked.Load(path)
		return asked
	})
}

func (n *nodes) handOver(to string) {
	n.Helper()
	n.until(to+" is asked to take over", func(s *cluster.State) bool {
		if s.States[0].Owner.Node == to {
			return true
		}
		_, _, err := ReleaseCluster(n.Context(), n.engine, n.token()) // the other one may not know yet that it may
		return err == nil
	})
	n.crawls(to, 2)
}

func (n *nodes) apply(text string, trial bool) error {
	_, err := ApplyCluster(n.Context(), n.engine, n.token(), []byte(text), "a test", false, trial)
	return err
}

// send puts a text in force through the API of the node that crawls.
func (n *nodes) send(name, text string) (int, string) {
	n.Helper()
	token, err := os.ReadFile(admin.TokenPath(filepath.Join(n.dir, name), admin.Operator))
	if err != nil {
		n.Fatal(err)
	}
	request := func(method string, body io.Reader, match string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(n.Context(), method, n.address(name)+"/api/v1/config", body)
		if err != nil {
			n.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		r.Header.Set("Content-Type", "application/xml")
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			n.Fatal(err)
		}
		words, err := io.ReadAll(a.Body)
		if err = errors.Join(err, a.Body.Close()); err != nil {
			n.Fatal(err)
		}
		return a, string(words)
	}
	before, _ := request(http.MethodGet, nil, "")
	a, words := request(http.MethodPut, strings.NewReader(text), before.Header.Get("ETag"))
	return a.StatusCode, words
}

func (n *nodes) read(name string) string {
	n.Helper()
	text, err := os.ReadFile(n.own[name])
	if err != nil {
		n.Fatal(err)
	}
	return string(text)
}

// TestOneConfiguration: the file of the first node is version 1. The file of another one that differs is told of, and never gone by,
// also when that node takes over; there, it does not become a version by a reload either, only by the operator's word.
func TestOneConfiguration(t *testing.T) {
	n := newNodes(t)
	n.file("n1", n.text("docs", "/one"))
	n.file("n2", n.text("docs", "/stray"))
	n.first()
	n.fetches("/one")
	n.start("n2")
	n.crawls("n1", 2)
	n.stand(1, map[string]string{"n1": shared.FileSame, "n2": shared.FileDiffers})
	n.until("n1 tells of it", func(*cluster.State) bool {
		client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
		if err != nil || client == nil {
			return false
		}
		all, err := client.Status(t.Context())
		return err == nil && len(all) == 1 && all[0].Cluster != nil && all[0].Cluster.ConfigVersion == 1 && strings.Contains(all[0].Cluster.ConfigDiffers, "n2")
	})
	n.handOver("n2")
	client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n2"), "")
	if err != nil || client == nil {
		t.Fatalf("the socket of n2: %v", err)
	}
	n.until("n2 answers", func(*cluster.State) bool { return client.Ready(t.Context()) == nil })
	if err := client.Reload(t.Context(), false); !errors.Is(err, admin.ErrDeclined) || !strings.Contains(err.Error(), "never in force") || !strings.Contains(err.Error(), "cluster apply") {
		t.Errorf("the reload of a file that was never in force: %v", err)
	}
	if err := n.apply(n.text("docs", "/one", "/two"), false); err != nil {
		t.Fatal(err)
	}
	n.fetches("/two")
	n.stand(2, map[string]string{"n1": shared.FileSame, "n2": shared.FileDiffers})
	if _, asked := n.asked.Load("/stray"); asked {
		t.Error("n2 has gone by its own file")
	}
	if n.read("n1") != n.text("docs", "/one", "/two") || n.read("n2") != n.text("docs", "/stray") {
		t.Errorf("the files are %s and %s: that of n1 follows, that of n2 stays", n.read("n1"), n.read("n2"))
	}
	n.write(n.own["n2"], n.read("n1"))
	n.stand(2, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
}

// TestConfigurationChanges: an edit of the file where the crawl is, one that was sent, and one that goes back to an older text are versions
// for all nodes, and the files follow. What one cannot use changes nothing.
func TestConfigurationChanges(t *testing.T) {
	n := newNodes(t)
	first := n.text("docs", "/1")
	n.file("n1", first)
	n.file("n2", first)
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	n.start("n2")
	n.crawls("n1", 2)
	same := map[string]string{"n1": shared.FileSame, "n2": shared.FileSame}
	n.stand(1, same)
	n.fetches("/1")
	n.until("n1 watches its file", func(*cluster.State) bool {
		client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
		return err == nil && client != nil && client.Ready(t.Context()) == nil
	})
	n.write(n.own["n1"], n.text("docs", "/1", "/2"))
	client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
	if err != nil || client == nil {
		t.Fatal(err)
	}
	if err := client.Reload(t.Context(), false); err != nil && !strings.Contains(err.Error(), "meanwhile") { // the watch may be faster
		t.Fatal(err)
	}
	n.fetches("/2")
	n.stand(2, same)
	n.handOver("n2")
	n.until("n2 takes what is sent", func(*cluster.State) bool {
		status, _ := n.send("n2", n.text("docs", "/1", "/2", "/3"))
		return status == http.StatusOK
	})
	n.fetches("/3")
	n.stand(3, same)
	if got := n.read("n1"); got != n.text("docs", "/1", "/2", "/3") {
		t.Errorf("the file of n1 is %s", got)
	}
	for text, want := range map[string]string{
		"<CrawlConfig>":       "CrawlConfig.xml:1:",
		n.text("other", "/1"): `no Crawler "docs"`,
		strings.Replace(first, "</Crawler>", `</Crawler><Notify command="/bin/true" on="stop"/>`, 1): "CrawlConfig.xml:1:",
	} {
		if err := n.apply(text, false); !errors.Is(err, shared.ErrRefused) || !strings.Contains(err.Error(), "node n") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q of a node", text, err, want)
		}
	}
	if err := n.apply(first, true); err != nil {
		t.Errorf("a trial: %v", err)
	}
	n.stand(3, same)
	if err := n.apply(first, false); err != nil {
		t.Errorf("back to the first: %v", err)
	}
	n.stand(4, same)
	if n.read("n2") != first {
		t.Errorf("the file of n2 is %s", n.read("n2"))
	}
}

// TestProgramOfEachMachine: a program that one machine's file names is not run by another one, whose file does not.
func TestProgramOfEachMachine(t *testing.T) {
	n := newNodes(t)
	with := strings.Replace(n.text("docs", "/1"), "</Crawler>", `</Crawler><Notify command="/bin/true" on="stop"/>`, 1)
	n.file("n1", with)
	n.file("n2", n.text("docs", "/1"))
	n.first()
	n.start("n2")
	n.crawls("n1", 2)
	n.overview("n2 cannot use it", func(o *shared.Overview) bool {
		said := o.Of("n2")
		return said != nil && strings.Contains(said.Unfit, "CrawlConfig.xml:1:") && strings.Contains(said.Unfit, "the file on this machine")
	})
	n.until("n1 does not hand over to it", func(*cluster.State) bool {
		_, _, err := ReleaseCluster(t.Context(), n.engine, n.token())
		return err != nil && strings.Contains(err.Error(), "n2 cannot use the configuration in force")
	})
	n.write(n.own["n2"], with)
	n.stand(1, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
	n.handOver("n2")
}

// TestOtherCrawler: a node whose file names another Crawler takes nothing over, and says why.
func TestOtherCrawler(t *testing.T) {
	n := newNodes(t)
	n.file("n2", n.text("other", "/stray"))
	first := n.first()
	n.start("n2")
	n.crawls("n1", 2)
	n.overview("n2 cannot use it", func(o *shared.Overview) bool {
		said := o.Of("n2")
		return said != nil && strings.Contains(said.Unfit, `no Crawler "other"`)
	})
	if err := first(); err != nil {
		t.Fatal(err)
	}
	n.until("n1 has given up", func(s *cluster.State) bool { return s.States[0].Released })
	time.Sleep(5 * n.times.Beat) // what must not happen has no sign: n2 looks each beat
	if s, err := n.observe(); err != nil || !s.States[0].Released {
		t.Errorf("%+v, %v: n2 has taken over", s, err)
	}
	if a, words := n.answer(n.address("n2") + "/readyz"); a.StatusCode == http.StatusOK || !strings.Contains(words, "takes nothing over") {
		t.Errorf("n2 is ready: %d %s", a.StatusCode, words)
	}
}

// TestEditUnderTakeOver: a version that is written while the crawl changes hands is in force at both nodes, or at none.
func TestEditUnderTakeOver(t *testing.T) {
	n := newNodes(t)
	n.file("n1", n.text("docs", "/1"))
	n.file("n2", n.text("docs", "/1"))
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	n.start("n2")
	n.crawls("n1", 2)
	n.stand(1, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := ApplyCluster(ctx, n.engine, n.token(), []byte(n.text("docs", "/1", "/2")), "n1", false, false)
		ended <- err
	}()
	n.handOver("n2")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	n.stand(2, map[string]string{"n1": shared.FileSame, "n2": shared.FileSame})
	n.fetches("/2")
}

// TestFileThatCannotFollow: where the service may not write the file, the version in force is shown, and an edit of the old file is not taken for one of it.
func TestFileThatCannotFollow(t *testing.T) {
	n := newNodes(t)
	o := n.options("n1")
	if err := os.MkdirAll(o.Data, 0o750); err != nil {
		t.Fatal(err)
	}
	c := newCommon(&o, &NodeOptions{Name: "n1", Engine: n.engine, times: n.times}, HomeOf(o.File, o.Crawlers[0], o.Data))
	first, second := n.text("docs", "/"), n.text("docs", "/2")
	version := func(number int64, text string) shared.Version {
		v := shared.Version{Number: number, ID: fmt.Sprint(number), Sum: digestOf([]byte(text))}
		v.Seal = c.node.Token.Seal(v.Sealed())
		return v
	}
	take := func(number int64, text string) {
		t.Helper()
		compiled, err := c.compile(t.Context(), version(number, text), []byte(text))
		if err == nil {
			err = c.take(t.Context(), compiled)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	take(1, first)
	if said := c.said(); said.File != shared.FileSame || said.FileVersion != 1 {
		t.Errorf("the first: %+v", said)
	}
	// An open file that is removed can be read, and nothing can be put in its place, whoever runs the test.
	missing := filepath.Join(n.dir, "gone", "CrawlConfig.xml")
	n.write(missing, first)
	c.path = "/proc/self/fd/" + openFor(t, missing)
	take(2, second)
	if said := c.said(); said.File != shared.FileOlder || said.FileVersion != 1 || said.FileWords == "" {
		t.Errorf("the second: %+v", said)
	}
	if text, err := c.Text(); err != nil || string(text) != second {
		t.Errorf("the editor shows %s, %v", text, err)
	}
	again := newCommon(&o, &c.node, c.home)
	if again.memory.FileVersion != 1 || string(again.memory.Text) != second {
		t.Errorf("after a restart it remembers %+v", again.memory)
	}
	c.path = n.config
	n.write(n.config, n.text("docs", "/edited"))
	c.lookAtFile()
	if said := c.said(); said.File != shared.FileDiffers || said.FileVersion != 1 {
		t.Errorf("edited: %+v", said)
	}
	now := version(2, second)
	if err := c.apply(t.Context(), c.said().FileVersion, &now, false); !admin.IsDeclined(err) || !strings.Contains(err.Error(), "made from version 1, and version 2") {
		t.Errorf("the edited file is applied: %v", err)
	}
}

// openFor opens a removed file for reading.
func openFor(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(f.Fd())
}

// TestPauseAndNoticesHold: a pause holds after a take-over, and what one node has sent a notice of, the other one does not send again.
func TestPauseAndNoticesHold(t *testing.T) {
	n := newNodes(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	with := func(root string) string {
		return strings.Replace(n.text("docs", root), "</Crawler>", `</Crawler><Notify webhook="`+receiver.URL+`" on="cluster"/>`, 1)
	}
	n.file("n1", with("/1"))
	n.file("n2", with("/stray"))
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	n.start("n1")
	n.start("n2")
	n.crawls("n1", 2)
	// status is that of the node that crawls, once it answers.
	status := func(name, what string, is func(*admin.Status) bool) {
		t.Helper()
		n.until(what, func(*cluster.State) bool {
			client, err := admin.Dial(t.Context(), filepath.Join(n.dir, name), "")
			if err != nil || client == nil {
				return false
			}
			all, err := client.Status(t.Context())
			return err == nil && len(all) == 1 && is(&all[0])
		})
	}
	told := func(s *admin.Status) string {
		words := ""
		for _, receiver := range s.Notices {
			for _, c := range receiver.Told {
				words += c.Subject + ": " + c.Words + "\n"
			}
		}
		return words
	}
	status("n1", "n1 has told that the file of n2 differs", func(s *admin.Status) bool {
		return strings.Contains(told(s), "configuration: ") && strings.Contains(told(s), "n2 differs")
	})
	client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
	if err != nil || client == nil {
		t.Fatal(err)
	}
	if err := client.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.handOver("n2")
	status("n2", "n2 crawls, and is paused", func(s *admin.Status) bool {
		if s.Paused && len(s.Notices) == 1 && !strings.Contains(told(s), "n2 differs") {
			t.Errorf("n2 does not know what was told: %s", told(s))
		}
		return s.Paused
	})
}

// TestWordIsGivenOnce: the operator's word for a version is given by whichever node goes by it first, and not for later edits.
func TestWordIsGivenOnce(t *testing.T) {
	store := storetest.NewMemory()
	for _, one := range []struct {
		version shared.Version
		want    bool
	}{
		{shared.Version{Number: 2}, false},
		{shared.Version{Number: 3, Word: true}, true},
		{shared.Version{Number: 3, Word: true}, false}, // another node takes over
		{shared.Version{Number: 4}, false},
		{shared.Version{Number: 5, Word: true}, true},
	} {
		word, err := spendWord(t.Context(), store, &one.version)
		if err != nil || word != one.want {
			t.Errorf("version %d, word %v: given %v, %v", one.version.Number, one.version.Word, word, err)
		}
	}
}

// TestWordSurvivesTakeOver: a version that deletes with the operator's word comes into force while nobody crawls: the node that crawls then
// has the word, and does not hold back what it deletes.
func TestWordSurvivesTakeOver(t *testing.T) {
	n := newNodes(t)
	stop := n.first()
	n.fetches("/")
	n.stand(1, map[string]string{"n1": shared.FileSame})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	next := strings.Replace(n.text("docs", "/"), "</Crawler>", `<Rules><Rule><Path val="/x/"/><Ignore/></Rule></Rules></Crawler>`, 1)
	if _, err := ApplyCluster(t.Context(), n.engine, n.token(), []byte(next), "n1", true, false); err != nil {
		t.Fatal(err)
	}
	stop = n.start("n1")
	n.stand(2, map[string]string{"n1": shared.FileSame})
	n.crawls("n1", 1)
	n.until("its crawl goes by it", func(*cluster.State) bool {
		client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
		return err == nil && client != nil && client.Ready(t.Context()) == nil
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	o := n.options("n1")
	err := ReadStore(t.Context(), HomeOf(o.File, o.Crawlers[0], o.Data), o.Log, func(ctx context.Context, store Store) error {
		edits, err := deletion.StoredEdits(ctx, store)
		if len(edits) != 1 || !edits[0].Word {
			t.Errorf("edits %+v, want one, with the operator's word", edits)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRefusedTwice: a version that the crawl which leads here could not be given once is tried again, and not taken for in force.
func TestRefusedTwice(t *testing.T) {
	n := newNodes(t)
	o := n.options("n1")
	c := newCommon(&o, &NodeOptions{Name: "n1"}, HomeOf(o.File, o.Crawlers[0], o.Data))
	s := &Service{config: c.configuration, log: o.Log, notify: newNotifier(func(string) string { return "" }, o.Log)}
	if err := c.attach(t.Context(), s, ""); err != nil {
		t.Fatal(err)
	}
	broken := inForce{Version: shared.Version{Number: 2, ID: "two"}, text: []byte("<CrawlConfig")}
	for range 2 {
		if err := c.take(t.Context(), broken); err == nil {
			t.Error("what the crawl cannot go by is said to be in force")
		}
	}
}
