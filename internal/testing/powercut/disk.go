package powercut

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Disk.mu guards the whole file system: each call, of the kernel or the test, takes the lock.

// Order describes what a file system guarantees beyond POSIX.
type Order uint8

// The orders.
const (
	// Journal is the behaviour of ext4 (data=ordered) and XFS: changes of directories become durable in order; syncing
	// a file makes its name durable too; and a file that grew by writes never shows bytes that were not written.
	Journal Order = iota
	// Posix guarantees no more than the standard: a name is durable after its directory was synced, and unsynced data
	// is kept or lost piece by piece.
	Posix
)

// String returns the order's name for logs.
func (o Order) String() string {
	if o == Posix {
		return "posix"
	}
	return "journal"
}

// Disk is a file system with a tree of folders. Folders are durable once created; links, permissions and times are not
// stored. Its methods may be called while the file system is in use.
type Disk struct {
	order Order

	mu      sync.Mutex
	durable map[string]*content // by path; a cut leaves at least these
	pending []change            // of names, oldest first, not durable yet
	folders map[string]bool
	// first holds the files of a Load, used by Mount.
	first map[string]*content
	syncs int
}

// change is a pending change of names: each path is bound to a content, or unbound. A rename is one change of two
// paths.
type change struct {
	binds map[string]*content
}

// New returns an empty disk.
func New(order Order) *Disk {
	return &Disk{order: order, durable: map[string]*content{}, folders: map[string]bool{".": true}, first: map[string]*content{}}
}

// Load returns a disk with a copy of a folder, all of it durable.
func Load(dir string, order Order) (*Disk, error) {
	d := New(order)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			d.folders[name] = true
		case e.Type().IsRegular():
			c, err := read(path)
			if err != nil {
				return err
			}
			d.durable[name], d.first[name] = c, c
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loading a disk from %s: %w", dir, err)
	}
	return d, nil
}

// read loads a file, without its holes.
func read(path string) (c *content, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c = newContent()
	buffer := make([]byte, 64*pageSize)
	for {
		n, err := io.ReadFull(f, buffer)
		c.write(buffer[:n], c.now.size)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			c.sync()
			return c, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Syncs returns how many syncs of files and folders the disk has served.
func (d *Disk) Syncs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncs
}

// bind records a change of names.
func (d *Disk) bind(binds map[string]*content) {
	d.pending = append(d.pending, change{binds})
}

// syncFile makes a content durable, and in Journal order the changes of names up to its last one.
func (d *Disk) syncFile(c *content) {
	d.syncs++
	c.sync()
	if d.order != Journal {
		return
	}
	for i, ch := range slices.Backward(d.pending) {
		for _, bound := range ch.binds {
			if bound == c {
				d.settle(d.pending[:i+1])
				d.pending = d.pending[i+1:]
				return
			}
		}
	}
}

// syncFolder makes the names in a folder durable.
func (d *Disk) syncFolder(folder string) {
	d.syncs++
	if d.order == Journal {
		d.settle(d.pending)
		d.pending = nil
		return
	}
	var left []change
	for _, ch := range d.pending {
		here := func(path string, _ *content) bool { return filepath.Dir(path) == folder }
		rest := maps.Clone(ch.binds)
		maps.DeleteFunc(rest, here)
		maps.DeleteFunc(ch.binds, func(path string, c *content) bool { return !here(path, c) })
		d.settle([]change{ch})
		if len(rest) > 0 {
			left = append(left, change{rest})
		}
	}
	d.pending = left
}

func (d *Disk) settle(changes []change) {
	for _, ch := range changes {
		apply(d.durable, ch)
	}
}

func apply(names map[string]*content, ch change) {
	for path, c := range ch.binds {
		if c == nil {
			delete(names, path)
		} else {
			names[path] = c
		}
	}
}

// Image writes to the folder dir, which must be empty or missing, what the disk may hold if the power failed now. The
// same seed and history give the same result. The disk is not changed.
func (d *Disk) Image(dir string, seed uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := rand.New(rand.NewPCG(seed, 0))
	// Each cut has its own probability, including all and nothing.
	luck := []float64{0, 0.1, 0.5, 0.9, 1}[r.IntN(5)]
	names := maps.Clone(d.durable)
	if d.order == Journal {
		n := 0
		for n < len(d.pending) && r.Float64() < luck {
			n++
		}
		for _, ch := range d.pending[:n] {
			apply(names, ch)
		}
	} else {
		for _, ch := range d.pending {
			if r.Float64() < luck {
				apply(names, ch)
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(d.folders)) {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return fmt.Errorf("image of a disk: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := names[name].image(filepath.Join(dir, name), r, luck, d.order); err != nil {
			return fmt.Errorf("image of a disk: %w", err)
		}
	}
	return nil
}
