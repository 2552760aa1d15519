package service

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// TestClusterBackup: a backup of a cluster that crawls becomes a cluster of its own, with all that was acknowledged before, and the configuration.
func TestClusterBackup(t *testing.T) {
	n := newNodes(t)
	if err := n.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(n.dir, "backup")
	if _, err := BackupCluster(t.Context(), n.engine, n.token(), backup); err == nil || !strings.Contains(err.Error(), "no node crawls") {
		t.Errorf("without a node: %v", err)
	}
	n.start("n1")
	n.crawls("n1", 1)
	n.stand(1, map[string]string{"n1": shared.FileSame})
	kept := n.site + "/kept"
	n.until("a URL is acknowledged", func(*cluster.State) bool {
		client, err := admin.Dial(t.Context(), filepath.Join(n.dir, "n1"), "")
		if err != nil || client == nil {
			return false
		}
		_, err = client.Submit(t.Context(), []string{kept})
		return err == nil
	})
	m, err := BackupCluster(t.Context(), n.engine, n.token(), backup)
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.observe()
	if err != nil {
		t.Fatal(err)
	}
	if m.Entry == 0 || m.Entry > s.States[0].Entries || m.Cluster != s.Cluster || m.Incarnation != s.Incarnation || m.Node != "n1" || m.Configuration.Number != 1 {
		t.Errorf("the manifest is %+v, the cluster %+v", m, s)
	}
	if _, err := BackupCluster(t.Context(), n.engine, n.token(), backup); err == nil || !strings.Contains(err.Error(), "a new folder") {
		t.Errorf("into the same folder: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(backup, "CrawlConfig.xml"))
	if err != nil || string(text) != n.text("docs", "/") {
		t.Errorf("the configuration is %s, %v", text, err)
	}
	n.restoredElsewhere(backup, kept)
	inForce := filepath.Join(backup, "CrawlConfig.xml")
	n.write(inForce, string(text)+"<!-- altered -->")
	if err := n.restore(backup, "refused"); err == nil || !strings.Contains(err.Error(), "another checksum") || !strings.Contains(err.Error(), inForce) {
		t.Errorf("a configuration that was altered: %v", err)
	}
	if err := os.Remove(inForce); err != nil {
		t.Fatal(err)
	}
	if err := n.restore(backup, "refused"); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("no configuration: %v", err)
	}
	n.write(inForce, string(text))
	if err := os.Truncate(filepath.Join(backup, storeFile), m.Bytes-1); err != nil {
		t.Fatal(err)
	}
	if err := n.restore(backup, "refused"); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a store that is cut short: %v", err)
	}
	if err := n.restore(t.TempDir(), "refused"); err == nil || !strings.Contains(err.Error(), "manifest.json") {
		t.Errorf("an empty folder: %v", err)
	}
}

// restore restores a backup to the data directory of a node. Where it fails there is nothing.
func (n *nodes) restore(backup, name string) error {
	n.Helper()
	h := Home{Dir: filepath.Join(n.dir, name)}
	report, err := RestoreBackup(n.Context(), backup, h, slog.New(slog.DiscardHandler))
	left, _ := filepath.Glob(h.Store() + "*")
	if err == nil && report.Faults != 0 || err != nil && len(left) > 0 {
		n.Errorf("%+v, %v, %q", report, err, left)
	}
	return err
}

// restoredElsewhere makes a new cluster of a backup, which must know a URL.
func (n *nodes) restoredElsewhere(backup, kept string) {
	n.Helper()
	data := filepath.Join(n.dir, "n9")
	if err := n.restore(backup, "n9"); err != nil {
		n.Fatal(err)
	}
	other := *n
	other.engine = clustertest.NewMemory()
	other.config = filepath.Join(backup, "CrawlConfig.xml")
	if err := other.found("n9", data); err != nil {
		n.Fatal(err)
	}
	other.start("n9")
	other.crawls("n9", 1)
	other.stand(1, map[string]string{"n9": shared.FileSame})
	other.until("n9 knows "+kept, func(*cluster.State) bool {
		client, err := admin.Dial(n.Context(), data, "")
		if err != nil || client == nil {
			return false
		}
		_, err = client.StoredOne(n.Context(), kept)
		return err == nil
	})
}
