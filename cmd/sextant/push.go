package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/compare"
)

func pushVerify(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() != "verify" {
		return wrongUse("push: write push verify, followed only by options")
	}
	o := compare.Options{Target: c.String("target"), Repair: c.Bool("repair"), DeleteForeign: c.Bool("delete-foreign"), Samples: c.Int("samples")}
	of := toCompare
	if o.Repair || o.DeleteForeign {
		of = toSelect
	}
	report := &compare.Report{}
	err := ask(c, of, func(client *admin.Client) error { return client.Post(c.Context, "/push/verify", nil, o, report) })
	if errors.Is(err, admin.ErrDeclined) {
		err = wrongUse("%w", err) // exit code 1 would mean a difference
	}
	if err != nil {
		return err
	}
	for _, words := range report.Refused {
		fmt.Fprintln(c.App.ErrWriter, words)
	}
	if err = showText(c, "compared", report); err == nil && report.Missing.Count+report.Different.Count+report.Foreign.Count > 0 {
		return no(nil)
	}
	return err
}
