package notices

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// The list is JSON: the conditions that each receiver was told of, by the receiver's id.
// memory.mu guards the map and the saving of the list, which any postman's goroutine
// does.

// Kept is where the list of the notices that were sent lies.
type Kept interface {
	// Load returns what was saved last, nil if nothing was.
	Load() ([]byte, error)
	Save(list []byte) error
}

// File keeps the list in a file of that path.
type File string

// Load implements Kept.
func (f File) Load() ([]byte, error) {
	b, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the file of notices that were sent: %w", err)
	}
	return b, nil
}

// Save implements Kept.
func (f File) Save(list []byte) error {
	path := string(f)
	to, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = to.Write(append(list, '\n'))
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err != nil {
		_ = os.Remove(to.Name()) // nothing needs it
	}
	return err
}

// memory is the list of the conditions that each receiver was told of and that last.
type memory struct {
	kept Kept // may be nil
	mu   sync.Mutex
	told map[string][]Condition // by receiver
}

// openMemory reads the list. One that cannot be read is started over: at worst
// a notice is sent twice.
func openMemory(k Kept) (*memory, error) {
	m := &memory{kept: k, told: map[string][]Condition{}}
	if k == nil {
		return m, nil
	}
	b, err := k.Load()
	if err != nil || b == nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m.told); err != nil || m.told == nil {
		m.told = map[string][]Condition{}
	}
	return m, nil
}

// of returns the conditions that a receiver was told of.
func (m *memory) of(receiver string) map[string]Condition {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]Condition{}
	for _, c := range m.told[receiver] {
		out[c.key()] = c
	}
	return out
}

// keep stores the conditions that a receiver was told of, all or none.
func (m *memory) keep(receiver string, told []Condition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told[receiver] = told; len(told) == 0 {
		delete(m.told, receiver)
	}
	if m.kept == nil {
		return nil
	}
	b, err := json.MarshalIndent(m.told, "", "\t")
	if err != nil {
		return err
	}
	return m.kept.Save(b)
}

// identify names an incident: the same condition since the same time.
func identify(c *Condition) string {
	return digest(fmt.Sprintf("%s\n%d", c.key(), c.Since.Unix()))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
