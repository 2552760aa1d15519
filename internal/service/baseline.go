package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/atomicfile"
)

// The mutex of a baseline guards its file and what it keeps in memory. A reload, and whatever request sends a
// configuration, takes it, also over reading and writing the files: they are small.
// The file has the form of JSON, see kept.

// baselineFile keeps the baseline in the data directory while the configuration is a text from the network.
const baselineFile = "config-baseline.json"

// baseline contains what a configuration sent over the network can name: everything that the file last written on this
// machine names. A text on disk counts as written on the machine unless its digest shows that it was received over the
// network. A received text never names anything outside the baseline, so mistaking it for one of the machine, as after
// the loss of the baseline's file, cannot extend the baseline; it only drops what the text does not name.
type baseline struct {
	path string // of the configuration
	file string // file that stores it
	log  *slog.Logger

	mu sync.Mutex
	// read is the digest of the last text of the machine, and uses lists what that names.
	read string
	uses []config.Use
}

// kept is the form of the file.
type kept struct {
	// Received are the digests of texts received over the network: the last one, preceded by the one before while that
	// may still be on disk. It is empty for a text of the machine, which is not stored.
	Received []string `json:"received"`
	// Uses lists what the text names that was last written on the machine.
	Uses []config.Use `json:"uses"`
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func newBaseline(path, data string, log *slog.Logger) *baseline {
	return &baseline{path: path, file: filepath.Join(data, baselineFile), log: log}
}

// look updates the baseline from the file on disk.
func (b *baseline) look() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.now() // whoever needs the file is told
}

// allowed returns what a configuration from the network can name now.
func (b *baseline) allowed() (func(config.Use) bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, err := b.now()
	uses := make(map[config.Use]bool, len(now.Uses))
	for _, u := range now.Uses {
		uses[u] = true
	}
	return func(u config.Use) bool { return uses[u] }, err
}

// receive calls write, which replaces the file by a text from the network, after recording
// that the text was not written on the machine.
func (b *baseline) receive(text []byte, write func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, err := b.now()
	if err != nil {
		return err
	}
	if err = b.keep(kept{append(before.Received, digestOf(text)), before.Uses}); err == nil {
		err = write()
	}
	_, nowErr := b.now() // an error may come after the text was written
	return errors.Join(err, nowErr)
}

// now returns the baseline for the file on disk, with mu held. Its error is that of reading the file.
func (b *baseline) now() (now kept, err error) {
	text, err := config.OSLookups().ReadFile(b.path)
	if err != nil {
		return now, err
	}
	digest := digestOf(text)
	stored, err := os.ReadFile(b.file)
	if err == nil {
		err = json.Unmarshal(stored, &now)
	}
	switch {
	case err == nil && slices.Contains(now.Received, digest):
		if len(now.Received) > 1 { // the other one is not on disk
			now.Received = []string{digest}
			err = b.keep(now)
		}
	case errors.Is(err, fs.ErrNotExist):
		return b.local(digest, text), nil
	default:
		if err != nil {
			b.log.Warn("cannot read which programs and files the configuration last written on this machine named; the file on disk counts as written here", "file", b.file, "error", err)
		}
		now, err = b.local(digest, text), os.Remove(b.file)
	}
	if err != nil {
		b.log.Warn("cannot update which programs and files the configuration on this machine names", "file", b.file, "error", err)
	}
	return now, nil
}

// local returns the baseline for a text of the machine. It opens nothing that the text names.
func (b *baseline) local(digest string, text []byte) kept {
	if b.read != digest {
		b.read, b.uses = digest, nil
		config.Parse(b.path, text, config.Lookups{Env: os.LookupEnv, Allow: func(u config.Use) bool {
			if !slices.Contains(b.uses, u) {
				b.uses = append(b.uses, u)
			}
			return true
		}})
	}
	return kept{Uses: b.uses}
}

// keep writes the file atomically.
func (b *baseline) keep(k kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return atomicfile.Write(b.file, 0o600, text)
}
