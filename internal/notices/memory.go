package notices

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/sextant-crawler/sextant/internal/atomicfile"
)

// The file is JSON: the conditions reported to each receiver, by the receiver's id. memory.mu guards the map and the
// writing of the file; the goroutine of any postman takes it.

// memory is the file of the lasting conditions that were reported to each receiver.
type memory struct {
	path string // path of the file; empty for none
	mu   sync.Mutex
	told map[string][]Condition // by receiver
}

// openMemory reads the file. An unreadable one is replaced: at worst a notice is sent twice.
func openMemory(path string) (*memory, error) {
	m := &memory{path: path, told: map[string][]Condition{}}
	if path == "" {
		return m, nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the file of notices that were sent: %w", err)
	}
	if err := json.Unmarshal(b, &m.told); err != nil || m.told == nil {
		m.told = map[string][]Condition{}
	}
	return m, nil
}

// of returns the conditions that were reported to a receiver.
func (m *memory) of(receiver string) map[string]Condition {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]Condition{}
	for _, c := range m.told[receiver] {
		out[c.key()] = c
	}
	return out
}

// keep stores the conditions that were reported to a receiver, all or none.
func (m *memory) keep(receiver string, told []Condition) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.told[receiver] = told; len(told) == 0 {
		delete(m.told, receiver)
	}
	if m.path == "" {
		return nil
	}
	b, err := json.MarshalIndent(m.told, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(m.path, 0o600, append(b, '\n'))
}

// identify identifies an incident: the same condition since the same time.
func identify(c *Condition) string {
	return digest(fmt.Sprintf("%s\n%d", c.key(), c.Since.Unix()))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
