package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/notices"
)

// Notify is a receiver of notices: either a webhook or a command.
type Notify struct {
	Webhook     secret.Value // its address, which may contain a key
	Secret      secret.Value // signs requests; zero: unsigned
	Command     []string
	On          []string // names of events, from package notices; empty: all
	IndexerDown time.Duration
}

func notifyElements() []Element {
	return []Element{{Name: "Notify", Parents: []string{"CrawlConfig"}, Attributes: []Attribute{
		text("webhook", SecretString, "", "URL that notices are posted to, as JSON; it may be internal. Use ${ENV} or file:PATH."),
		text("secret", SecretString, "", "Key of the HMAC-SHA256 in the header Sextant-Signature."),
		{Name: "command", Type: Command, NotEmpty: true, Doc: "Absolute path of a program and its arguments, separated by spaces. No shell is involved."},
		{Name: "on", NotEmpty: true, Doc: "Events to report, separated by spaces: " + strings.Join(eventNames(), ", ") + "; all but round if absent."},
		ranged("indexerDownMin", Int, "15", 0, 10_080, "Minutes after which an indexer that is down is reported."),
	}, Doc: "Notifies an operator by webhook or command of problems that need a person: once when a problem begins, once when it is over."}}
}

func eventNames() []string {
	var out []string
	for _, e := range notices.Events() {
		out = append(out, string(e))
	}
	return out
}

// notify reads the Notify elements.
func (p *parser) notify(root *node) []Notify {
	var out []Notify
	for n := range root.all("Notify") {
		r := Notify{
			Webhook: n.secret("webhook"), Secret: n.secret("secret"), Command: strings.Fields(n.str("command")),
			IndexerDown: time.Duration(n.number("indexerDownMin")) * time.Minute,
		}
		hook, command := n.attr("webhook"), n.attr("command")
		switch {
		case len(n.faulty) > 0:
		case (hook == nil) == (command == nil):
			p.errorf(n.at, "<Notify> has either webhook=\"...\" or command=\"...\"")
		case hook != nil:
			if complaint := webhookComplaint(r.Webhook.Reveal()); complaint != "" {
				p.errorf(hook.value, "webhook %s", complaint)
			}
		default:
			p.checkProgram(command)
		}
		if a := n.attr("secret"); a != nil && command != nil {
			p.errorf(a.name, "secret signs what a webhook is posted: remove it")
		}
		r.On = p.events(n.attr("on"))
		if (hook != nil || command != nil) && slices.ContainsFunc(out, r.sameReceiver) {
			p.errorf(n.at, "this webhook or command is written twice: put all that it is told into one on=\"...\"")
		}
		out = append(out, r)
	}
	return out
}

func (r *Notify) sameReceiver(other Notify) bool {
	return r.Webhook.Equal(other.Webhook) && slices.Equal(r.Command, other.Command)
}

// webhookComplaint never shows the address, which may be secret.
func webhookComplaint(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "is not an absolute URL: write https://host/path"
	}
	if u.User != nil {
		return "holds a user's name or password: write an address without them"
	}
	return ""
}

func (p *parser) events(on *attr) []string {
	if on == nil {
		return nil
	}
	var out []string
	event := Attribute{Values: eventNames()}
	for word := range strings.FieldsSeq(on.text) {
		if complaint := event.checkEnum(word); complaint != "" {
			p.errorf(on.value, "on=%s: %s %s", quote(on.text), quote(word), complaint)
			continue
		}
		out = append(out, word)
	}
	return out
}
