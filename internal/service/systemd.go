package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// keepNotifying and keepAlive run in goroutines of Service.Run. Patience starts one of its own,
// which the function that it returns ends and waits for. A notifier has no lock: systemd's
// socket takes whole messages.

// notifier notifies systemd of the service's state, see sd_notify(3). It does nothing unless NOTIFY_SOCKET is set.
type notifier struct {
	socket string
	// watchdog is systemd's limit between signs of life; 0 if it needs none.
	watchdog time.Duration
	log      *slog.Logger
	failed   atomic.Bool
}

func newNotifier(getenv func(string) string, log *slog.Logger) *notifier {
	n := &notifier{socket: getenv("NOTIFY_SOCKET"), log: log}
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return n
	}
	if usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64); err == nil && usec > 0 {
		n.watchdog = time.Duration(usec) * time.Microsecond
	}
	return n
}

// send sends one message of several variables. Only its first failure is logged: the service
// runs as well without a listener.
func (n *notifier) send(state ...string) {
	if n == nil || n.socket == "" {
		return
	}
	// Dialled each time, since the socket may have been made anew. A name that begins
	// with @ is an abstract one.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(strings.Join(state, "\n")))
		err = errors.Join(err, conn.Close())
	}
	if err != nil && !n.failed.Swap(true) {
		n.log.Warn("cannot notify systemd of the state of the service", "socket", n.socket, "error", err)
	}
}

// statusBytes is the maximum length of a status line.
const statusBytes = 300

// statusLine returns STATUS= with words on one line.
func statusLine(format string, args ...any) string {
	words := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	if len(words) > statusBytes {
		words = strings.ToValidUTF8(words[:statusBytes], "") + "..."
	}
	return "STATUS=" + words
}

func (n *notifier) starting()           { n.send(statusLine("opening stores")) }
func (n *notifier) ready(words string)  { n.send("READY=1", statusLine("%s", words)) }
func (n *notifier) status(words string) { n.send(statusLine("%s", words)) }
func (n *notifier) stopping() {
	n.send("STOPPING=1", statusLine("stopping: finishing pages in flight"))
}
func (n *notifier) alive() { n.send("WATCHDOG=1") }
func (n *notifier) extend(d time.Duration) {
	n.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()))
}

// reloading announces a reload; ready ends it. With Type=notify-reload systemd uses the timestamp to distinguish this
// reload from an earlier one.
func (n *notifier) reloading() {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		n.log.Warn("cannot read the monotonic clock", "error", err)
	}
	n.send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", at.Nano()/1000), statusLine("reading the configuration"))
}

const (
	// statusEvery is the interval at which the status is sent.
	statusEvery = 30 * time.Second
	// extendBy is requested again after a third of it while a start or a stop goes on, for longestEnd at most: a page in
	// flight may take its downloadTimeoutMS, a store must write the changes it has in memory.
	extendBy   = 30 * time.Second
	longestEnd = 15 * time.Minute
)

// patience asks systemd for more time until the returned function is called.
func (n *notifier) patience() (enough func()) {
	return beside(context.Background(), func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, longestEnd)
		defer cancel()
		for more := n.socket != ""; more; more = sleep(ctx, extendBy/3) {
			n.extend(extendBy)
		}
	})
}

// keepNotifying sends the status to systemd periodically, until ctx ends.
func (s *Service) keepNotifying(ctx context.Context) error {
	for s.notify.socket != "" && sleep(ctx, statusEvery) {
		s.notify.status(s.words(ctx))
	}
	return nil
}

// keepAlive notifies systemd's watchdog while each Crawler proves that it is alive. Without the proof systemd gets no
// notification: it ends and restarts the process. It does so by SIGABRT, for which Go prints the stack of every
// goroutine.
func (s *Service) keepAlive(ctx context.Context) error {
	if s.notify.socket == "" || s.notify.watchdog == 0 {
		return nil
	}
	for ctx.Err() == nil {
		proof, cancel := context.WithTimeout(ctx, s.notify.watchdog)
		err := s.alive(proof)
		cancel()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.log.Error("watchdog: no progress; not notifying systemd", "error", err)
		default:
			s.notify.alive()
			sleep(ctx, s.notify.watchdog/3)
		}
	}
	return nil
}

// alive checks each Crawler: that its frontier loops, so its mutex is free and its gates are open, and that the
// committer completes a write, so the committer and the disk work. An answer that is an error is a sign of life too: a
// full disk ends the crawl by itself.
func (s *Service) alive(ctx context.Context) error {
	for _, r := range s.crawls {
		if err := r.Alive(ctx); err != nil {
			return fmt.Errorf("the Crawler %s: %w", r.Name(), err)
		}
	}
	return nil
}

// words returns the status of all Crawlers on one line.
func (s *Service) words(ctx context.Context) string {
	line := "crawling: " + s.Progress(ctx)
	for _, r := range s.crawls {
		status, err := r.figures(ctx)
		if err == nil && status.ConfigError != "" {
			line += "; the changed configuration is refused"
		}
		if err == nil && status.IdleCode != "" {
			line += "; " + r.Name() + " " + status.IdleCode
		}
	}
	return line
}
