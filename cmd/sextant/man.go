package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

func manCommand() *cli.Command {
	return &cli.Command{
		Name:        "man",
		Usage:       "print the manual page sextant(1)",
		Description: "It bears the date of SOURCE_DATE_EPOCH (seconds since 1970), or today's.",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return wrongUse("man takes no arguments, found %q", c.Args().First())
			}
			date, err := manualDate(os.Getenv("SOURCE_DATE_EPOCH"))
			if err != nil {
				return err
			}
			return writeManual(c.App.Writer, c.App, date)
		},
	}
}

// manualDate is the date that a reproducible build wants, else today.
func manualDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, wrongUse("SOURCE_DATE_EPOCH %q: write seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// isCommon reports whether a flag is described once for all commands.
func isCommon(f flagReference) bool {
	return slices.Contains([]string{"--config", "--data", "--crawler", "--json", "--log-format", "--log-level"}, f.names[0])
}

// manual writes roff with the macros of man(7).
type manual struct{ *bufio.Writer }

// put writes s as it is; Flush tells whether anything was lost.
func (m manual) put(s string) { fmt.Fprint(m, s) }

// macro writes a request with its arguments quoted.
func (m manual) macro(name string, arguments ...string) {
	for _, a := range arguments {
		name += ` "` + strings.ReplaceAll(escapeRoff(a), `"`, `\(dq`) + `"`
	}
	m.put("." + name + "\n")
}

// manualWidth is the length of a line of the source of a manual page.
const manualWidth = 78

// text writes running text in short lines that roff does not take for requests.
func (m manual) text(words string) {
	var line string
	end := func() {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		if line != "" {
			m.put(line + "\n")
		}
		line = ""
	}
	for word := range strings.FieldsSeq(words) {
		word = escapeRoff(word)
		if line != "" && len(line)+1+len(word) > manualWidth {
			end()
		}
		if line != "" {
			line += " "
		}
		line += word
		if strings.HasSuffix(word, ".") { // roff sets the space after a sentence
			end()
		}
	}
	end()
}

// escapeRoff keeps roff from taking characters of words for its own.
func escapeRoff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "’", `\(cq`).Replace(s)
}

func (m manual) section(title, words string) {
	m.macro("SH", title)
	m.text(words)
}

func (m manual) term(term, words string) {
	m.put(".TP\n")
	m.macro("B", term)
	m.text(words)
}

// writeManual writes sextant(1).
func writeManual(w io.Writer, app *cli.App, date time.Time) error {
	m := manual{bufio.NewWriter(w)}
	m.put(fmt.Sprintf(".TH SEXTANT 1 %s \"sextant %s\" \"User Commands\"\n", date.Format(time.DateOnly), escapeRoff(strings.Fields(app.Version)[0])))
	m.section("NAME", "sextant - "+app.Usage)
	m.macro("SH", "SYNOPSIS")
	m.macro("B", "sextant")
	m.text("COMMAND [OPTION]... [ARGUMENT]...")
	m.section("DESCRIPTION", manualIntroduction)
	m.section("COMMANDS", "Options stand before or after the arguments.")
	commands := reference(app)
	for i := range commands {
		m.command(&commands[i])
	}
	m.macro("SH", "COMMON OPTIONS")
	for _, f := range commands[0].flags {
		if isCommon(f) {
			m.flag(f)
		}
	}
	m.term("--help, -h", "Show the options of a command and exit.")
	m.term("--version, -v", "Print version, commit, Go version and platform, and exit.")
	m.section("ENVIRONMENT", "Options that are the same each time can be set by a variable, which stands with them; the command line counts before it.")
	m.term("NO_COLOR", "If it is set to anything, nothing is printed in colour.")
	m.term("GOMEMLIMIT", "Memory that the process tries to stay below; it counts before --memory-limit.")
	m.term("TZ", "The time zone of hours and schedules in the configuration.")
	m.term("HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "Proxies on the way to indexers. Those on the way to sites are written in the configuration.")
	m.macro("SH", "EXIT STATUS")
	for _, s := range [][2]string{
		{"0", "Done."}, {"1", "The command's own no: the configuration has errors, a check found a fault."},
		{"2", "Wrong use."}, {"3", "It could not run; the message says what to do."},
	} {
		m.term(s[0], s[1])
	}
	m.macro("SH", "FILES")
	for _, f := range manualFiles() {
		m.term(f[0], f[1])
	}
	m.section("SEE ALSO", "CrawlConfig.xml(5), sextant.service(8)")
	return m.Flush()
}

const manualIntroduction = `Sextant is a crawl engine for enterprise search. CrawlConfig.xml says for every URL whether it is indexed, followed or ignored,
how urgent it is, and which metas it carries. Documents and deletions reach an indexer through its push interface.
What must survive a crash lies in the data directory.
Commands talk to the service that runs on the data directory; where none runs they read the store.`

func manualFiles() [][2]string {
	return [][2]string{
		{"CrawlConfig.xml", "The configuration, see CrawlConfig.xml(5)."},
		{"data/sextant.sock", "The socket of a running service, in its data directory; only its owner may use it."},
		{"/etc/sextant/CrawlConfig.xml", "The configuration of the service that the Debian package installs."},
		{"/etc/default/sextant", "Options of that service."},
		{"/var/lib/sextant", "Its data directory."},
	}
}

// command writes one command: what it does, then its own options.
func (m manual) command(c *commandReference) {
	title := strings.TrimSpace("sextant " + c.name + " " + c.arguments)
	m.macro("SS", title)
	m.text(sentence(c.usage))
	if c.description != "" {
		m.put(".PP\n")
		m.text(c.description)
	}
	var common []string
	for _, f := range c.flags {
		if isCommon(f) {
			common = append(common, f.names[0])
			continue
		}
		m.flag(f)
	}
	if len(common) > 0 {
		m.put(".PP\n")
		m.text("Common options: " + strings.Join(common, ", ") + ".")
	}
}

func (m manual) flag(f flagReference) {
	term := strings.Join(f.names, ", ")
	if f.placeholder != "" {
		term += " " + f.placeholder
	}
	words := sentence(f.usage)
	if f.preset != "" && !strings.Contains(f.usage, "default") {
		words += " The default is " + f.preset + "."
	}
	if len(f.variables) > 0 {
		words += " Variable: " + strings.Join(f.variables, ", ") + "."
	}
	m.term(term, words)
}

// sentence makes one of a usage line.
func sentence(s string) string {
	if s == "" {
		return s
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}
