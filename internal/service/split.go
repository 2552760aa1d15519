package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/scheduler/partitioned/divide"
)

// SplitBackup makes the backup of a crawl over several partitions, in a new folder, out of the backup of one that is not divided: a file that sextant
// backup wrote, or the folder of a cluster's backup.
func SplitBackup(ctx context.Context, from, dir string, partitions int) (m Manifest, err error) {
	if partitions < 2 || partitions > cluster.MaxPartitions {
		return m, fmt.Errorf("%d partitions: write a number from 2 to %d", partitions, cluster.MaxPartitions)
	}
	file, text, m, err := undivided(from)
	if err != nil {
		return m, err
	}
	m.Format, m.Begun = 2, time.Now().UTC()
	if err := os.Mkdir(dir, 0o750); errors.Is(err, fs.ErrExist) {
		return m, fmt.Errorf("%s is there already: name a new folder", dir)
	} else if err != nil {
		return m, err
	}
	split := func(r io.Reader) error { return m.split(ctx, r.(io.ReadSeeker), dir, partitions) }
	if err = m.read(file, split); err == nil {
		m.Sum = ""
		err = m.write(dir, text)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return m, err
}

// undivided is the file of a backup of a crawl that is not divided, with its configuration and its manifest; a single file has neither.
func undivided(from string) (file string, text []byte, m Manifest, err error) {
	info, err := os.Stat(from)
	if err != nil {
		return "", nil, m, err
	}
	if !info.IsDir() {
		m.Bytes = info.Size()
		return from, nil, m, nil
	}
	if m, err = readManifest(from); err != nil {
		return "", nil, m, err
	}
	if m.Format != 1 {
		return "", nil, m, fmt.Errorf("%s is the backup of a crawl over %d partitions: how many there are is for as long as it lives", from, len(m.Parts))
	}
	text, err = os.ReadFile(filepath.Join(from, config.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // there was none, as its manifest says
	}
	return filepath.Join(from, storeFile), text, m, err
}

// split writes the backups of the partitions.
func (m *Manifest) split(ctx context.Context, from io.ReadSeeker, dir string, partitions int) (err error) {
	m.Parts = make([]Backed, partitions)
	to, sums, files := make([]io.Writer, partitions), make([]interface{ Sum([]byte) []byte }, partitions), make([]*os.File, partitions)
	defer func() {
		for _, f := range files {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	for p := range cluster.Partition(partitions) {
		f, err := os.OpenFile(partFile(dir, p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		sum := sha256.New()
		files[p], sums[p], to[p] = f, sum, io.MultiWriter(f, sum)
	}
	of, values, err := divide.Backup(ctx, from, to)
	if err != nil {
		return err
	}
	m.Values, m.Bytes = values, 0
	for p := range of {
		m.Parts[p] = Backed{Bytes: of[p].Bytes, Sum: hex.EncodeToString(sums[p].Sum(nil)), URLs: of[p].URLs, Orders: of[p].Orders}
		m.Bytes += of[p].Bytes
		if err := files[p].Sync(); err != nil {
			return err
		}
	}
	return nil
}
