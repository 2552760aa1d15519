package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/internal/admin"
)

func preview(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("preview: name the changed configuration, one file or folder")
	}
	if c.Int("samples") < 0 {
		return wrongUse("--samples is 0 or more")
	}
	parsed, err := loadFile(c, c.Args().First())
	if err != nil {
		return err
	}
	crawler, h, err := theCrawler(c, parsed)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(c.Args().First())
	if err != nil {
		return err
	}
	p, samples := &review.Preview{}, c.Int("samples")
	// A service reads the file itself, since file and socket have the same owner.
	err = askFor(c, crawler.Name, readOnly(h), func(client *admin.Client) error {
		return client.Post(c.Context, "/preview", nil, admin.PreviewRequest{Path: path, Samples: &samples}, p)
	})
	if err != nil {
		return err
	}
	return show(c, p, func() error {
		printPreview(c.App.Writer, p)
		return nil
	})
}

// printPreview writes a preview for people.
func printPreview(w io.Writer, p *review.Preview) {
	fmt.Fprintf(w, "%s judged, %s indexed\n", count(p.Judged, "stored URL"), count(p.Indexed, "document"))
	changed := p.Pending + p.Retimed + p.Cancelled
	for _, g := range []struct {
		what  string
		group review.PreviewGroup
	}{
		{"excluded (760)", p.Excluded},
		{"left to another crawler (761)", p.Elsewhere},
		{"excluded when they are next taken", p.ExcludedWhenTaken},
		{"crawled again", p.Readmitted},
		{"in another fifo", p.Moved},
		{"documents deleted", p.Deleted},
		{"read again, for links that were outside", p.Reread},
		{"documents leave a target, by another source", p.Leaving},
		{renewedWords(p), p.Renewed},
	} {
		if changed += g.group.Count; g.group.Count == 0 {
			continue
		}
		fmt.Fprintf(w, "%8d  %s\n", g.group.Count, g.what)
		for _, by := range g.group.By {
			fmt.Fprintf(w, "          %d by %s\n", by.Count, by)
		}
		for _, s := range g.group.Samples {
			line := s.URL
			if s.To != "" {
				line += " (" + s.Fifo + " to " + s.To + ")"
			}
			if s.Words != "" {
				line += ": " + s.Words
			}
			fmt.Fprintf(w, "          %s\n", line)
		}
		if more := int(g.group.Count) - len(g.group.Samples); more > 0 && len(g.group.Samples) > 0 {
			fmt.Fprintf(w, "          and %d more\n", more)
		}
	}
	if changed == 0 {
		fmt.Fprintln(w, "Nothing would change.")
	}
	if p.Pending > 0 {
		fate := "they stay so"
		if p.Narrowed {
			fate = "so few are left that they go without your word"
		}
		fmt.Fprintf(w, "%8d  pending by earlier edits, and still to go: %s\n", p.Pending, fate)
	}
	if p.Cancelled > 0 {
		fmt.Fprintf(w, "%8d  pending by earlier edits, and cancelled: these documents stay\n", p.Cancelled)
	}
	if p.Retimed > 0 {
		fmt.Fprintf(w, "%8d  fetched again at other times\n", p.Retimed)
	}
	if p.Note != "" {
		fmt.Fprintln(w, p.Note)
	}
	if p.Held > 0 {
		fmt.Fprintf(w, "edits may take %s out without your word now: all %s would stay pending, unless you reload with --yes\n",
			count(p.Allowed, "more document"), comma(p.Held))
	}
}

// renewedWords describes when documents get other metas or another source.
func renewedWords(p *review.Preview) string {
	const what = "documents with other metas or another source"
	switch p.AtOnce {
	case 0:
		return what + " when they are fetched next; at once with --now"
	case p.Renewed.Count:
		return what + ", fetched again at once"
	}
	return fmt.Sprintf("%s: %d are fetched again at once, the others when they are due; with --now all at once", what, p.AtOnce)
}

// loadFile reads a configuration that is not in force.
func loadFile(c *cli.Context, path string) (*config.File, error) {
	parsed, report, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return parsed, reportErrors(c, report)
}
