package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/push/wire"
)

// clusterApply makes a file the configuration of all nodes.
func clusterApply(c *cli.Context, e cluster.Engine) error {
	path, trial := c.Args().Get(1), c.Bool("check")
	text, err := config.OSLookups().ReadFile(path)
	if err != nil {
		return err
	}
	if err := sound(path, text); err != nil {
		return err
	}
	token, err := service.NodeToken(nodeToken(c))
	if err != nil {
		return err
	}
	done, err := service.ApplyCluster(c.Context, e, token, text, path+", "+whoAmI(), c.Bool("yes"), trial)
	switch {
	case errors.Is(err, shared.ErrRefused) || errors.Is(err, shared.ErrChanged):
		return no(err)
	case err != nil:
		return err
	case c.Bool("json"):
		return json.NewEncoder(c.App.Writer).Encode(done)
	case !done.Changed:
		return saidDone(c, fmt.Sprintf("%s is what is in force already: version %d", path, done.Version))
	case trial:
		return saidDone(c, fmt.Sprintf("every node can use %s; version %d is still in force", path, done.Version))
	}
	return saidDone(c, fmt.Sprintf("version %d is in force at all nodes", done.Version))
}

// sound looks for what no machine could use; what the text names lies on the nodes, and is looked for there.
func sound(path string, text []byte) error {
	_, err := config.Text(path, text)
	return err
}

// whoAmI is for people: who applies a configuration, and where.
func whoAmI() string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown machine"
	}
	if u, err := user.Current(); err == nil {
		return u.Username + "@" + host
	}
	return host
}

// clusterText prints the text in force.
func clusterText(c *cli.Context, e cluster.Engine) error {
	v, text, err := service.ClusterConfiguration(c.Context, e)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(map[string]any{"version": v.Number, "sha256": v.Sum, "by": v.By, "at": v.At, "text": string(text)})
	}
	_, err = c.App.Writer.Write(text)
	return err
}

// printConfiguration shows a person which configuration is in force, and how the nodes stand to it.
func printConfiguration(w io.Writer, s *service.ClusterState, paint paint) {
	o := &s.Configuration
	if o.Active.Number == 0 {
		fmt.Fprintln(w, "configuration: none yet: the file of the node that crawls first becomes version 1")
		return
	}
	fmt.Fprintf(w, "configuration: version %d (%s) since %s, by %s\n", o.Active.Number, short(o.Active.Sum), clock(o.Active.At), wire.Plain(o.Active.By))
	if p := o.Proposed; p != nil && p.Refused != "" {
		if !p.Trial {
			fmt.Fprintf(w, "  refused: a later one by %s at %s: %s\n", wire.Plain(p.By), clock(p.At), wire.Plain(p.Refused))
		}
	} else if p != nil {
		fmt.Fprintf(w, "  version %d by %s waits until all nodes have said that they can use it\n", p.Number, wire.Plain(p.By))
	}
	for _, said := range o.Nodes {
		if !s.Alive(said.Node) {
			continue
		}
		words := fmt.Sprintf("  %s goes by version %d, ", said.Node, said.Version)
		if said.Unfit != "" {
			words = fmt.Sprintf("  %s %s: %s; ", said.Node, paint(bad, "cannot use it"), wire.Plain(said.Unfit))
		}
		words += fileWords(&said, paint)
		if owner := s.States[0].Owner.Node; owner != said.Node {
			if paths := said.Others(o.Of(owner)); len(paths) > 0 {
				words += fmt.Sprintf("; %s: %s", paint(bad, "not the same as on "+owner), wire.Plain(strings.Join(paths, ", ")))
			}
		}
		fmt.Fprintln(w, words)
	}
}

// fileWords say how a node's file stands.
func fileWords(said *shared.Said, paint paint) string {
	switch said.File {
	case shared.FileSame:
		return "its file is the same"
	case shared.FileOlder:
		return fmt.Sprintf("its file is still version %d: %s", said.FileVersion, said.FileWords)
	case shared.FileDiffers:
		words := paint(bad, "its file differs")
		switch {
		case said.FileWords != "":
			return words + ": " + said.FileWords
		case said.FileVersion > 0:
			return fmt.Sprintf("%s (%s, made from version %d)", words, short(said.FileSum), said.FileVersion)
		}
		return fmt.Sprintf("%s (%s)", words, short(said.FileSum))
	}
	return "its file was not compared yet"
}

// short is enough of a checksum to tell two apart.
func short(sum string) string { return sum[:min(len(sum), 12)] }

// notHeld says what else belongs to a backup.
func notHeld(m *service.Manifest) string {
	var there []string
	for path, sum := range m.Files {
		if sum != "" {
			there = append(there, path)
		}
	}
	if len(there) == 0 {
		return "not in it: secrets"
	}
	slices.Sort(there)
	return fmt.Sprintf("not in it: secrets, and these files of %s: %s", m.Node, wire.Plain(strings.Join(there, ", ")))
}

// clusterBackup has the node that crawls write a backup into a folder.
func clusterBackup(c *cli.Context, e cluster.Engine) error {
	token, err := service.NodeToken(nodeToken(c))
	if err != nil {
		return err
	}
	dir := c.Args().Get(1)
	m, err := service.BackupCluster(c.Context, e, token, dir)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(m)
	}
	if len(m.Parts) > 0 {
		_, err = fmt.Fprintf(c.App.Writer, "backup of %s in %s: %d partitions, and version %d of the configuration\n%s\n", size(m.Bytes), dir, len(m.Parts), m.Configuration.Number, notHeld(&m))
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "backup of %s in %s: the store up to entry %d at least, and version %d of the configuration\n%s\n", size(m.Bytes), dir, m.Entry, m.Configuration.Number, notHeld(&m))
	return err
}
