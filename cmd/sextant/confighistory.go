package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
)

// configHistory lists earlier texts of the configuration, compares one with the file, or restores it.
func configHistory(c *cli.Context) error {
	verb, n := c.Args().First(), 0
	if c.NArg() == 2 {
		n, _ = strconv.Atoi(c.Args().Get(1))
	}
	if !slices.Contains([]string{"history", "diff", "rollback"}, verb) || c.NArg() > 2 || c.NArg() == 2 && n < 1 {
		return wrongUse("config: write history, diff N or rollback N, where N is a number of the history")
	}
	client, err := theService(c, "", "start it, or copy a text of "+filepath.Join(c.String("data"), "config-history")+" over the file")
	if err != nil {
		return err
	}
	var versions []admin.ConfigVersion
	err = admin.Each(c.Context, client, "/config/versions", nil, func(v admin.ConfigVersion) error {
		versions = append(versions, v)
		return nil
	})
	switch {
	case err != nil:
		return err
	case verb == "history":
		for i, v := range versions {
			if err := printResult(c, v, fmt.Sprintf("%4d  %s  %d bytes", i+1, clock.Local(v.Kept), v.Bytes)); err != nil {
				return err
			}
		}
		return nil
	case n > len(versions):
		return no(fmt.Errorf("the history has %s", admin.Count(len(versions), "version")))
	}
	if n > 0 {
		versions = versions[n-1 : n]
	}
	head, now, err := client.Text(c.Context, "/config", nil)
	if err != nil {
		return err
	}
	old, kept, err := versionOf(c, client, versions, now)
	if err != nil {
		return err
	}
	if verb == "diff" {
		fmt.Fprint(c.App.Writer, differing(string(old), string(now)))
		return nil
	}
	header := http.Header{"If-Match": {head.Get("ETag")}, "Content-Type": {"application/xml"}}
	answer, err := client.Ask(c.Context, http.MethodPut, "/api/v1/config", nil, header, bytes.NewReader(old))
	if err != nil {
		return declined(err)
	}
	_ = answer.Body.Close()
	return printDone(c, "rolled back to the version of "+clock.Local(kept))
}

// versionOf returns the text of the first of some versions that differs from other, and when it was kept.
func versionOf(c *cli.Context, client *admin.Client, of []admin.ConfigVersion, other []byte) (text []byte, kept time.Time, err error) {
	for _, v := range of {
		if _, text, err = client.Text(c.Context, "/config/version", admin.Query("name", v.Name)); err != nil || !bytes.Equal(text, other) {
			return text, v.Kept, err
		}
	}
	return nil, kept, no(errors.New("the version does not differ from the file"))
}

// differing returns the lines from the first to the last difference of two texts, those of old marked with -, those of
// now with +; "" if they are equal.
func differing(old, now string) string {
	from, to := slices.Collect(strings.Lines(old)), slices.Collect(strings.Lines(now))
	first := 0
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		from, to, first = from[1:], to[1:], first+1
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	if len(from)+len(to) == 0 {
		return ""
	}
	out := fmt.Sprintf("line %d:\n", first+1)
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"- ", from}, {"+ ", to}} {
		for _, l := range side.lines {
			out += side.mark + strings.TrimRight(l, "\n") + "\n"
		}
	}
	return out
}
