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

// The mutex of a baseline guards all that it keeps. A reload, and whatever request sends a
// configuration, takes it, also over reading and writing the files: they are small.
// The file has the form of JSON, see kept.

// baselineFile keeps the baseline in the data directory.
const baselineFile = "config-baseline.json"

// baseline contains what a configuration sent over the network can name: everything that the file last written on this
// machine names. A text on disk counts as written on the machine unless its digest shows that it was received over the
// network. A received text never names anything outside the baseline, so mistaking it for one of the machine, as after
// the loss of the baseline's file, cannot extend the baseline; it only drops what the text does not name.
type baseline struct {
	path string // of the configuration
	file string // file that stores it; empty for none
	log  *slog.Logger

	mu   sync.Mutex
	read bool // the stored baseline
	now  kept
}

// kept is the form of the file.
type kept struct {
	// Local is the digest of the text that was last written on the machine.
	Local string `json:"local"`
	// Received are the digests of texts received over the network since then: the last
	// one, preceded by the one before while that may still be on disk.
	Received []string `json:"received,omitempty"`
	// Uses lists what Local names.
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
	_ = b.update() // whoever needs the file is told
}

// allowed returns what a configuration from the network can name now.
func (b *baseline) allowed() (func(config.Use) bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.update(); err != nil {
		return nil, err
	}
	uses := make(map[config.Use]bool, len(b.now.Uses))
	for _, u := range b.now.Uses {
		uses[u] = true
	}
	return func(u config.Use) bool { return uses[u] }, nil
}

// receive calls write, which replaces the file by a text from the network, after recording
// that the text was not written on the machine.
func (b *baseline) receive(text []byte, write func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.update(); err != nil {
		return err
	}
	before := b.now
	b.now.Received = append(slices.Clone(before.Received), digestOf(text))
	err := b.keep()
	if err == nil {
		err = write()
	}
	if on, readErr := b.onDisk(); readErr != nil || on != digestOf(text) { // an error may come after it was written
		b.now = before
		b.tryToKeep()
	}
	return errors.Join(err, b.update())
}

// onDisk is the digest of the file.
func (b *baseline) onDisk() (string, error) {
	text, err := config.OSLookups().ReadFile(b.path)
	return digestOf(text), err
}

// update is look with mu held. Its error is that of reading the file.
func (b *baseline) update() error {
	b.restore()
	text, err := config.OSLookups().ReadFile(b.path)
	if err != nil {
		return err
	}
	digest := digestOf(text)
	switch last := len(b.now.Received) - 1; {
	case slices.Contains(b.now.Received, digest):
		if b.now.Received[last] != digest || last == 0 {
			return nil
		}
		b.now.Received = b.now.Received[last:]
	case last < 0 && digest == b.now.Local:
		return nil
	default:
		b.now = kept{Local: digest, Uses: usesOf(b.path, text)}
	}
	b.tryToKeep()
	return nil
}

// usesOf lists what a configuration names. It opens none of it.
func usesOf(path string, text []byte) []config.Use {
	uses := []config.Use{}
	config.Parse(path, text, config.Lookups{Env: os.LookupEnv, Allow: func(u config.Use) bool {
		if !slices.Contains(uses, u) {
			uses = append(uses, u)
		}
		return true
	}})
	return uses
}

// restore reads the stored baseline, once. If no text was received since, the file on disk is read again, since its
// variables may have changed their values.
func (b *baseline) restore() {
	if b.read {
		return
	}
	b.read = true
	text, err := os.ReadFile(b.file)
	if b.file == "" || errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(text, &b.now)
	}
	if err != nil {
		b.now = kept{}
		b.log.Warn("cannot read which programs and files the configuration last written on this machine named; the file on disk counts as written here", "file", b.file, "error", err)
	}
	if len(b.now.Received) == 0 {
		b.now.Local = ""
	}
}

// tryToKeep is keep for callers that an error need not stop.
func (b *baseline) tryToKeep() {
	if err := b.keep(); err != nil {
		b.log.Warn("cannot store which programs and files the configuration on this machine names; after a restart, the file on disk counts as written here", "error", err)
	}
}

// keep writes the file atomically.
func (b *baseline) keep() error {
	if b.file == "" {
		return nil
	}
	text, err := json.Marshal(b.now)
	if err != nil {
		return err
	}
	return atomicfile.Write(b.file, 0o600, text)
}
