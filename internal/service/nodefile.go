package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// nodefile.go: the file of this machine beside the version in force. The file follows: it is replaced by each version that comes into force as long
// as nobody has edited it, and the service may write it. What a person wrote is never replaced. Beside the store is kept, as JSON, what was in
// force here last. lookAgain is a goroutine of common.Run.

// keptFile keeps what is remembered in the data directory.
const keptFile = "config-in-force.json"

func keptPath(data string) string { return filepath.Join(data, keptFile) }

// remembered is the form of the file.
type remembered struct {
	Version shared.Version `json:"version"` // in force here last; Number 0: none
	Text    []byte         `json:"text"`    // of it
	// FileVersion is the version that the file of this machine was last equal to, and FileSum its checksum.
	FileVersion int64  `json:"file_version"`
	FileSum     string `json:"file_sha256"`
}

// recall reads it. If it cannot be read nothing is lost but what the file was made from.
func recall(path string, log *slog.Logger) (m remembered) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("which configuration was in force at this node is not known", "file", path, "error", err)
		m = remembered{}
	}
	return m
}

func (m *remembered) keep(path string) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return writeOver(path, text)
}

// lookAtFile sees how the file stands to the version in force, and has it follow.
func (c *common) lookAtFile() {
	c.looking.Lock()
	defer c.looking.Unlock()
	text, err := c.read()
	if err != nil {
		c.stands(shared.Said{File: shared.FileDiffers, FileWords: err.Error()})
		return
	}
	c.baseline.look()
	said := c.compare(digestOf(text))
	if said.File == shared.FileOlder {
		if err := c.follow(text); err != nil {
			said.FileWords = err.Error()
		} else if text, err = c.read(); err == nil {
			said = c.compare(digestOf(text))
		}
	}
	c.stands(said)
}

// compare says how a file with the digest stands.
func (c *common) compare(digest string) shared.Said {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := shared.Said{FileSum: digest, FileVersion: c.memory.FileVersion, File: shared.FileDiffers}
	switch {
	case c.now.Number == 0:
		said.File = ""
	case digest == c.now.Sum:
		said.File, said.FileVersion = shared.FileSame, c.now.Number
	case digest == c.memory.FileSum:
		said.File = shared.FileOlder
	}
	return said
}

// follow replaces the file, which holds before, by the version in force.
func (c *common) follow(before []byte) error {
	text := c.text()
	return c.baseline.receive(text, func() error {
		_, err := admin.ReplaceConfig(c.path, before, text)
		return err
	})
}

// stands notes how the file stands, and logs it if it is news.
func (c *common) stands(said shared.Said) {
	c.mu.Lock()
	before := c.file
	c.file = said
	same := said.File == shared.FileSame && c.memory.FileSum != said.FileSum
	if same {
		c.memory.FileVersion, c.memory.FileSum = said.FileVersion, said.FileSum
	}
	memory, version, leads := c.memory, c.now.Version, c.service != nil
	c.mu.Unlock()
	if same {
		if err := memory.keep(c.kept); err != nil {
			c.log.Warn("what the file was made from cannot be remembered", "file", c.kept, "error", err)
		}
	}
	if said.File == before.File && said.FileSum == before.FileSum && said.FileWords == before.FileWords {
		return
	}
	switch {
	case said.File == shared.FileDiffers && !leads: // where the crawl is, an edit is put in force, or refused with words
		c.log.Warn("the configuration's file on this machine is not what the cluster goes by: sextant cluster apply puts it in force, sextant cluster config shows what is",
			"file", c.path, "version", version.Number, "by", version.By)
	case said.File == shared.FileOlder:
		c.log.Warn("the configuration's file on this machine is an earlier version, and cannot be replaced: the cluster goes by the version in force all the same",
			"file", c.path, "is", said.FileVersion, "version", version.Number, "error", said.FileWords)
	}
}

// lookAgain looks at the file when it has changed, tells the other nodes how it stands, and sees at the node that leads how theirs do.
func (c *common) lookAgain(ctx context.Context) {
	var seen, others time.Time
	var id, file string
	sums := shared.NewSums()
	for ctx.Err() == nil {
		if nowID, nowFile := c.signature(); nowID != id || nowFile != file || time.Since(seen) > time.Minute {
			known := nowID == id // else it was compiled just now
			id, file, seen = nowID, nowFile, time.Now()
			c.lookAtFile()
			if known {
				c.again(ctx)
			}
		}
		due := time.Since(others) > c.node.times.Beat*5
		if due {
			c.lookAtFiles(sums)
		}
		err := shared.Say(ctx, c.node.Engine, c.said())
		if err == nil && due {
			others = time.Now()
			err = c.lookAtOthers(ctx)
		}
		if err != nil && ctx.Err() == nil {
			c.log.Debug("how the configuration's file stands is not told to the other nodes", "error", err)
		}
		_ = (cluster.SystemClock{}).Sleep(ctx, c.node.times.Beat) // the end of ctx ends the loop
	}
}

// lookAtFiles sees what the files hold here that the version in force names: each machine has its own.
func (c *common) lookAtFiles(sums *shared.Sums) {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	if now.file == nil {
		return
	}
	files := map[string]string{}
	folder := filepath.Dir(c.path)
	for path, sum := range sums.Of(now.file.Files) {
		if inside, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(inside) {
			path = inside
		}
		files[path] = sum
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.ID == now.ID {
		c.copies = copies{now.ID, files}
	}
}

// signature is the version, and what changes with the file.
func (c *common) signature() (id, file string) {
	c.mu.Lock()
	id = c.now.ID
	c.mu.Unlock()
	info, err := os.Stat(c.path)
	if err != nil {
		return id, err.Error()
	}
	return id, fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// said is what this node tells the others.
func (c *common) said() shared.Said {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := c.file
	said.Node, said.Version = c.node.Name, c.now.Number
	if c.copies.of == c.now.ID {
		said.Files = c.copies.sums
	}
	if c.unfit != nil {
		said.Unfit = c.unfit.Error()
	}
	return said
}

// lookAtOthers notes, at the node that leads, for notices and the status, which of the nodes that run have a file that differs, or another copy of what
// it names, or cannot use what is in force.
func (c *common) lookAtOthers(ctx context.Context) error {
	o, err := shared.Look(ctx, c.node.Engine)
	if err != nil {
		return err
	}
	nodes, err := cluster.Nodes(ctx, c.node.Engine)
	if err != nil {
		return err
	}
	var words []string
	mine := c.said()
	for _, n := range nodes {
		if unfit := o.UnfitOf(n.Node); unfit != "" {
			words = append(words, n.Node+" cannot use it: "+unfit)
		} else if said := o.Of(n.Node); said != nil && said.File == shared.FileDiffers {
			words = append(words, "the file of "+n.Node+" differs from it")
		}
		if paths := mine.Others(o.Of(n.Node)); len(paths) > 0 && n.Node != c.node.Name {
			words = append(words, fmt.Sprintf("%s has another %s than %s", n.Node, strings.Join(paths, ", "), c.node.Name))
		}
	}
	slices.Sort(words)
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.others
	c.all = o
	if c.others = ""; c.service != nil && len(words) > 0 {
		c.others = fmt.Sprintf("version %d is in force in the cluster; %s", o.Active.Number, strings.Join(words, "; "))
	}
	if c.others != "" && c.others != before {
		c.log.Warn("the nodes do not have one configuration", "how", c.others)
	}
	return nil
}

// unprotected says so if no other node of the in-sync set can use what is in force.
func (c *common) unprotected(set []cluster.Seat) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return unfitAll(c.all, c.node.Name, set)
}

// unfitOf says why a node cannot use what is in force, "" if it can, as far as is known.
func (c *common) unfitOf(node string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all.UnfitOf(node)
}

// differs says whose file differs, "" if none does, and number which version is in force.
func (c *common) differs() (number int64, words string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now.Number, c.others
}
