package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store"
)

// homes returns the Crawlers of a command that have a store.
func homes(c *cli.Context) ([]service.Home, error) {
	database, err := databaseOf(c)
	if err != nil {
		return nil, err
	}
	return service.HomesIn(c.Context, c.String("data"), database, c.String("crawler"))
}

// oneHome returns the only one of them.
func oneHome(c *cli.Context) (service.Home, error) {
	found, err := homes(c)
	if err != nil {
		return service.Home{}, err
	}
	if len(found) > 1 {
		var names []string
		for _, h := range found {
			names = append(names, h.Crawler)
		}
		where := map[bool]string{true: c.String("data"), false: "the database"}[c.String("database") == ""]
		return service.Home{}, wrongUse("%s holds several Crawlers: name one with --crawler (%s)",
			where, strings.Join(names, ", "))
	}
	return found[0], nil
}

// storeOf returns the store that a command uses if no service runs, and how to open it.
type storeOf func(*cli.Context, *slog.Logger) (service.Offline, error)

// ask calls fn with a client of the running service, or of the store if none runs.
func ask(c *cli.Context, of storeOf, fn func(*admin.Client) error) error {
	return askFor(c, c.String("crawler"), of, fn)
}

// packagedData is the data directory of the service that the Debian package installs.
const packagedData = "/var/lib/sextant"

// dial connects to the running service, or returns nil without one: the service of the data directory or, if the
// default is meant and does not exist, that of the folder packaged.
func dial(c *cli.Context, crawler, packaged string) (*admin.Client, error) {
	data := c.String("data")
	client, err := admin.Dial(c.Context, data, crawler)
	if client != nil || err != nil || c.IsSet("data") || isDir(data) {
		return client, err
	}
	if client, err = admin.Dial(c.Context, packaged, crawler); client != nil {
		fmt.Fprintf(c.App.ErrWriter, "%s does not exist: asking the service of %s\n", data, packaged)
	}
	return client, err
}

// clientCall is a method of a client.
type clientCall[In, Out any] = func(*admin.Client, context.Context, In) (Out, error)

// asked calls ask and returns the result of a client's method.
func asked[In, Out any](c *cli.Context, of storeOf, call clientCall[In, Out], in In) (out Out, err error) {
	err = ask(c, of, func(client *admin.Client) (err error) {
		out, err = call(client, c.Context, in)
		return err
	})
	return out, err
}

// askFor is ask for a Crawler other than that of --crawler.
func askFor(c *cli.Context, crawler string, of storeOf, fn func(*admin.Client) error) error {
	log, err := newLogger(c)
	if err != nil {
		return err
	}
	client, err := dial(c, crawler, packagedData)
	if err != nil {
		return err
	}
	standby := standsBy(c, client)
	if client != nil && standby == nil {
		return declined(fn(client))
	}
	o, err := of(c, log)
	if err == nil && standby != nil && !o.Store.ReadOnly {
		err = standby
	}
	if err != nil {
		return err
	}
	return declined(o.Ask(c.Context, fn))
}

// standsBy returns an error if a service runs that waits for another node's place: then the database is read.
func standsBy(c *cli.Context, client *admin.Client) error {
	if client == nil || c.String("database") == "" {
		return nil
	}
	if err := client.Ready(c.Context); errors.Is(err, admin.ErrStandingBy) {
		return err
	}
	return nil
}

// declined gives an error the exit code for "no" if the request was declined, unless the command has chosen another.
func declined(err error) error {
	_, chosen := errors.AsType[*failure](err)
	if !chosen && errors.Is(err, admin.ErrDeclined) {
		return no(err)
	}
	return err
}

// askEach calls fn for each Crawler of the command, one after the other.
func askEach(c *cli.Context, fn func(*admin.Client) error) error {
	if _, err := newLogger(c); err != nil {
		return err
	}
	client, err := dial(c, c.String("crawler"), packagedData)
	if err != nil {
		return err
	}
	standby := standsBy(c, client)
	if standby != nil {
		fmt.Fprintln(c.App.ErrWriter, standby)
	}
	if client != nil && standby == nil {
		all, err := client.Status(c.Context)
		for _, s := range all {
			if err == nil {
				err = fn(client.For(s.Crawler))
			}
		}
		return err
	}
	all, err := homes(c)
	for _, h := range all {
		if err == nil {
			err = askFor(c, h.Crawler, readOnly(h), fn)
		}
	}
	return err
}

// readOnly is a storeOf for reading the store of a Crawler.
func readOnly(h service.Home) storeOf {
	return func(_ *cli.Context, log *slog.Logger) (service.Offline, error) {
		return service.Offline{Home: h, Store: store.Options{ReadOnly: true}, Agent: userAgent(), Log: log}, nil
	}
}

// toRead is the storeOf of commands that only read, without a configuration.
func toRead(c *cli.Context, log *slog.Logger) (service.Offline, error) {
	h, err := oneHome(c)
	return service.Offline{Home: h, Store: store.Options{ReadOnly: true}, Log: log}, err
}

// toChange is the storeOf of commands that change the store, without a configuration.
func toChange(c *cli.Context, log *slog.Logger) (service.Offline, error) {
	o, err := toRead(c, log)
	o.Store = store.Options{FirstOrder: service.FirstOrder()}
	return o, err
}

// withSettings is a storeOf with the settings of the configuration, or the defaults if that cannot be read.
func withSettings(of storeOf) storeOf {
	return func(c *cli.Context, log *slog.Logger) (service.Offline, error) {
		o, err := of(c, log)
		if err != nil {
			return o, err
		}
		crawler, err := configuredCrawler(c, o.Home.Crawler)
		if err != nil {
			o.Log.Info("the configuration is not read: the defaults apply", "error", err)
			o.Settings.Frontier = scheduler.DefaultSettings()
			return o, nil
		}
		o.Settings = crawlSettings(crawler)
		return o, nil
	}
}

// toConfigured is the storeOf of commands that change the store by the configuration. There may be no store yet.
func toConfigured(c *cli.Context, log *slog.Logger) (service.Offline, error) {
	crawler, h, err := oneCrawler(c)
	return service.Offline{Home: h, Store: service.StoreOptions(crawler), Crawler: crawler, Settings: crawlSettings(crawler), Log: log}, err
}

// toSelect is toConfigured for commands on stored URLs: without a store there are none.
func toSelect(c *cli.Context, log *slog.Logger) (service.Offline, error) {
	o, err := toConfigured(c, log)
	if err == nil && !o.Home.Exists() {
		err = fmt.Errorf("%s contains no store: nothing was crawled there yet, or --data names another directory", o.Home.Dir)
	}
	return o, err
}

// toCompare is toSelect for commands that only read.
func toCompare(c *cli.Context, log *slog.Logger) (service.Offline, error) {
	o, err := toSelect(c, log)
	o.Store = store.Options{ReadOnly: true}
	return o, err
}

// configuredCrawler returns the configuration's Crawler of a name, or its only one.
func configuredCrawler(c *cli.Context, name string) (config.Crawler, error) {
	path, err := configPath(c)
	if err != nil {
		return config.Crawler{}, err
	}
	parsed, report, err := config.Load(path)
	if err != nil {
		return config.Crawler{}, err
	}
	if err := report.Err(); err != nil {
		return config.Crawler{}, err
	}
	for _, one := range parsed.Crawlers {
		if one.Name == name || name == "" && len(parsed.Crawlers) == 1 {
			return one, nil
		}
	}
	return config.Crawler{}, errors.New("it has no such Crawler")
}

// theService returns the running service for a command that requires it. If there is none, the error says so and adds
// then as the remedy; otherwise it reports why the service cannot be used.
func theService(c *cli.Context, crawler, then string) (*admin.Client, error) {
	client, err := dial(c, crawler, packagedData)
	if err == nil && client == nil {
		err = fmt.Errorf("no service is running on %s: %s", c.String("data"), then)
	}
	return client, err
}

// list prints the items of a list of the API, up to --limit of them, as JSON or with text. none is the message for an
// empty list, on stderr, so that stdout contains only the list.
func list[T any](c *cli.Context, of storeOf, none string, text func(*T) error, path string, query url.Values) error {
	shown, limit := 0, c.Int("limit")
	err := ask(c, of, func(client *admin.Client) error {
		return admin.Each(c.Context, client, path, query, func(v T) error {
			if shown++; limit > 0 && shown > limit {
				return errEnough
			}
			return show(c, &v, func() error { return text(&v) })
		})
	})
	if err == nil && shown == 0 && !c.Bool("json") {
		fmt.Fprintln(c.App.ErrWriter, none)
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// errEnough ends a list that prints only its first items.
var errEnough = errors.New("enough was printed")

// line returns the function that prints an item by a template.
func line[T any](c *cli.Context, template string) func(*T) error {
	write := texts(c.App.Writer, painter(c))
	return func(v *T) error { return write(template, v) }
}

// showEach prints each of all, as show does.
func showEach[T any](c *cli.Context, template string, all []T) error {
	text := line[T](c, template)
	for i := range all {
		if err := show(c, &all[i], func() error { return text(&all[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// show prints v, by text for people.
func show(c *cli.Context, v any, text func() error) error {
	if !c.Bool("json") {
		return text()
	}
	return jsonTo(c.App.Writer).Encode(v)
}

// jsonTo returns an encoder that leaves the & of URLs as it is.
func jsonTo(w io.Writer) *json.Encoder {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out
}

// decision reads the arguments of a command that lists, or decides about URLs: one of the verbs, "" without one, and
// URLs.
func decision(c *cli.Context, verbs ...string) (verb string, urls []string, err error) {
	if verb = c.Args().First(); verb == "" {
		return "", nil, nil
	}
	if !slices.Contains(verbs, verb) {
		return "", nil, wrongUse("%s %q: write %s with URLs or --all; without it, they are listed", c.Command.Name, verb, strings.Join(verbs, " or "))
	}
	urls, err = expandStdin(c, c.Args().Tail())
	return verb, urls, err
}
