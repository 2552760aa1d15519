// Command sbom says what is in a built program: a bill of materials in CycloneDX JSON,
// and the texts of the licences under which its parts may be passed on. It reads the
// list of modules from the program itself, and the licences from the module cache.
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes what the arguments ask for.
func run(ctx context.Context, args []string, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	flags.SetOutput(stderr)
	program := flags.String("program", "", "the built program, a `FILE`")
	version := flags.String("version", "", "its `VERSION`")
	bom := flags.String("bom", "", "write the bill of materials to `FILE`")
	notices := flags.String("licenses", "", "write the licences to `FILE`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *program == "" || *version == "" {
		return errors.New("write -program FILE -version VERSION, and -bom FILE, -licenses FILE or both")
	}
	info, err := buildinfo.ReadFile(*program)
	if err != nil {
		return err
	}
	at, err := buildTime(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	parts, err := partsOf(ctx, info)
	if err != nil {
		return err
	}
	return errors.Join(
		writeFile(*bom, func(w io.Writer) error { return writeBOM(w, info, parts, *version, at) }),
		writeFile(*notices, func(w io.Writer) error { return writeLicenses(w, parts) }),
	)
}

// buildTime is what SOURCE_DATE_EPOCH says, else now.
func buildTime(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %q: write seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

func writeFile(name string, write func(io.Writer) error) (err error) {
	if name == "" {
		return nil
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
