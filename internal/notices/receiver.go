package notices

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Receiver gets notices: a webhook or a command.
type Receiver struct {
	// Webhook is an address for notices, if it is not empty. It may be secret as a whole, and may be internal, since
	// the operator sets it.
	Webhook secret.Value
	// Secret signs notices like the webhook of the push targets, if it is not empty.
	Secret secret.Value
	// Command is a program and its arguments, run without a shell.
	Command []string
	// On are its events; an empty list stands for all.
	On []Event
	// IndexerDown is the time for which a target must be down before a notice.
	IndexerDown time.Duration
}

const (
	// postTimeout bounds all attempts at one notice, answerTimeout one of them.
	postTimeout   = 5 * time.Minute
	answerTimeout = 30 * time.Second
	postRetries   = 8
	// commandTimeout bounds a command.
	commandTimeout = time.Minute
	commandGrace   = 2 * time.Second
	// maxOutput bounds the kept output of a command.
	maxOutput = 4 << 10
)

// name returns the receiver without possible secrets.
func (r *Receiver) name() string {
	if len(r.Command) > 0 {
		return "command " + r.Command[0]
	}
	if u, err := url.Parse(r.Webhook.Reveal()); err == nil {
		return "webhook " + u.Scheme + "://" + u.Host
	}
	return "webhook"
}

// hears reports whether the receiver subscribes to an event.
func (r *Receiver) hears(e Event) bool { return len(r.On) == 0 || slices.Contains(r.On, e) }

// id identifies the receiver over restarts.
func (r *Receiver) id() string {
	return digest(strings.Join(append([]string{r.Webhook.Reveal()}, r.Command...), "\n"))
}

// once sends a notice without retries.
func (r *Receiver) once(ctx context.Context, log *slog.Logger, n Notice) error {
	if len(r.Command) > 0 {
		return r.run(log)(ctx, n)
	}
	send, closeIdle, err := r.post(-1)
	if err != nil {
		return err
	}
	defer closeIdle()
	return send(ctx, n)
}

// post returns a function that posts notices, with a number of retries (-1: none).
func (r *Receiver) post(retries int) (send func(context.Context, Notice) error, closeIdle func(), err error) {
	u, err := url.Parse(r.Webhook.Reveal())
	if err != nil || u.Host == "" {
		return nil, nil, errors.New("the address of a webhook is not a URL")
	}
	server := url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
	client, err := wire.New(wire.Settings{URL: server.String(), Timeout: answerTimeout, Retries: retries, RetryWait: time.Second})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, n Notice) error {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		header := http.Header{webhook.KeyHeader: {n.ID + "-" + string(n.State)}}
		if !r.Secret.IsEmpty() {
			header[webhook.SignatureHeader] = []string{webhook.Signature(r.Secret, time.Now(), body)}
		}
		ctx, cancel := context.WithTimeout(ctx, postTimeout)
		defer cancel()
		_, err = client.Do(ctx, wire.Request{
			Name: "notice", Method: http.MethodPost, Path: u.EscapedPath(), Query: u.Query(), ContentType: "application/json", Body: body, Header: header,
		})
		return err
	}, client.Close, nil
}

// run returns a function that runs the command for a notice, once.
func (r *Receiver) run(log *slog.Logger) func(context.Context, Notice) error {
	return func(ctx context.Context, n Notice) error {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, commandTimeout)
		defer cancel()
		command := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...) //nolint:gosec // the operator's own, and no shell reads it
		command.Stdin = bytes.NewReader(append(body, '\n'))
		command.Env = environment(&n)
		command.Dir = filepath.Dir(r.Command[0])
		output := &clipped{}
		command.Stdout, command.Stderr = output, output
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
		command.WaitDelay = commandGrace
		begun := time.Now()
		err = command.Run()
		if said := strings.TrimSpace(output.kept.String()); said != "" {
			log.Info("output of the command of a notice", "command", r.Command[0], "output", said)
		}
		if ctx.Err() != nil && err != nil {
			return fmt.Errorf("it did not end within %s", time.Since(begun).Round(time.Second))
		}
		return err
	}
}

// environment returns a command's environment: not the service's own, which may contain secrets.
func environment(n *Notice) []string {
	env := []string{
		"SEXTANT_EVENT=" + string(n.Event), "SEXTANT_STATE=" + string(n.State), "SEXTANT_CRAWLER=" + wire.Plain(n.Crawler),
		"SEXTANT_SUBJECT=" + wire.Plain(n.Subject), "SEXTANT_TEXT=" + wire.Plain(n.Text), "SEXTANT_ID=" + n.ID,
	}
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// clipped keeps the beginning of an output.
type clipped struct{ kept bytes.Buffer }

// Write never fails, so that a command with much output is not interrupted.
func (c *clipped) Write(b []byte) (int, error) {
	c.kept.Write(b[:min(len(b), maxOutput-c.kept.Len())])
	return len(b), nil
}
