package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/sextant-crawler/sextant/config"
)

// settle is the time for which a folder must be quiet before a changed file is read: editors write in several steps.
const settle = 500 * time.Millisecond

// watch reloads when a file of the configuration's folder changes. It watches the
// folder, since editors replace files. If it cannot, it logs that and leaves reloading to
// signals.
func (s *Service) watch(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(filepath.Dir(s.config.path))
	}
	if err != nil {
		s.log.Warn("cannot watch the configuration; reload it with SIGHUP or sextant reload", "error", err)
		return nil
	}
	quiet := time.NewTimer(0)
	<-quiet.C
	for {
		select {
		case <-ctx.Done():
			quiet.Stop()
			return nil
		case e := <-watcher.Events:
			if s.isConfig(e) {
				quiet.Reset(settle)
			}
		case err := <-watcher.Errors:
			s.log.Warn("watching the configuration", "error", err)
		case <-quiet.C:
			s.reloadChanged(ctx)
		}
	}
}

// configFiles identifies the state of the configuration and the rules beside it by size,
// time and inode. It is never empty.
func (s *Service) configFiles() string {
	var all strings.Builder
	for _, name := range s.watched() {
		info, err := os.Stat(filepath.Join(filepath.Dir(s.config.path), name))
		if err != nil {
			fmt.Fprintln(&all, "none")
			continue
		}
		var inode uint64
		if at, ok := info.Sys().(*syscall.Stat_t); ok {
			inode = at.Ino
		}
		fmt.Fprintln(&all, info.Size(), info.ModTime().UnixNano(), inode)
	}
	return all.String()
}

// isConfig reports whether an event concerns the configuration or rules beside it.
func (s *Service) isConfig(e fsnotify.Event) bool {
	return slices.Contains(s.watched(), filepath.Base(e.Name)) && !e.Has(fsnotify.Chmod)
}

// watched lists the names of the configuration and the rules beside it.
func (s *Service) watched() []string {
	return []string{filepath.Base(s.config.path), config.CrawlRulesName, config.GlobalRulesName}
}
