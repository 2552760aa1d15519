package manual

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// IsCommon reports whether a flag is described once for all commands.
func IsCommon(f Flag) bool {
	return slices.Contains([]string{"--config", "--data", "--crawler", "--json", "--log-format", "--log-level"}, f.Names[0])
}

// roff writes it with the macros of man(7).
type roff struct{ *bufio.Writer }

// put writes s as it is; Flush tells whether anything was lost.
func (m roff) put(s string) { fmt.Fprint(m, s) }

// macro writes a request with its arguments quoted.
func (m roff) macro(name string, arguments ...string) {
	for _, a := range arguments {
		name += ` "` + strings.ReplaceAll(escapeRoff(a), `"`, `\(dq`) + `"`
	}
	m.put("." + name + "\n")
}

// roffWidth is the length of a line of the source of a manual page.
const roffWidth = 78

// text writes running text in short lines that roff does not take for requests.
func (m roff) text(words string) {
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
		if line != "" && len(line)+1+len(word) > roffWidth {
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

func (m roff) section(title, words string) {
	m.macro("SH", title)
	m.text(words)
}

func (m roff) term(term, words string) {
	m.put(".TP\n")
	m.macro("B", term)
	m.text(words)
}

// WritePage writes sextant(1).
func WritePage(w io.Writer, app *cli.App, date time.Time) error {
	m := roff{bufio.NewWriter(w)}
	m.put(fmt.Sprintf(".TH SEXTANT 1 %s \"sextant %s\" \"User Commands\"\n", date.Format(time.DateOnly), escapeRoff(strings.Fields(app.Version)[0])))
	m.section("NAME", "sextant - "+app.Usage)
	m.macro("SH", "SYNOPSIS")
	m.macro("B", "sextant")
	m.text("COMMAND [OPTION]... [ARGUMENT]...")
	m.section("DESCRIPTION", introduction)
	m.section("COMMANDS", "Options stand before or after the arguments.")
	commands := Reference(app)
	for i := range commands {
		m.command(&commands[i])
	}
	m.macro("SH", "COMMON OPTIONS")
	for _, f := range commands[0].Flags {
		if IsCommon(f) {
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
	for _, f := range files() {
		m.term(f[0], f[1])
	}
	m.section("SEE ALSO", "CrawlConfig.xml(5), sextant.service(8)")
	return m.Flush()
}

const introduction = `Sextant is a crawl engine for enterprise search. CrawlConfig.xml says for every URL whether it is indexed, followed or ignored,
how urgent it is, and which metas it carries. Documents and deletions reach an indexer through its push interface.
What must survive a crash lies in the data directory.
Commands talk to the service that runs on the data directory; where none runs they read the store.`

func files() [][2]string {
	return [][2]string{
		{"CrawlConfig.xml", "The configuration, see CrawlConfig.xml(5)."},
		{"data/sextant.sock", "The socket of a running service, in its data directory; only its owner may use it."},
		{"/etc/sextant/CrawlConfig.xml", "The configuration of the service that the Debian package installs."},
		{"/etc/default/sextant", "Options of that service."},
		{"/var/lib/sextant", "Its data directory."},
	}
}

// command writes one command: what it does, then its own options.
func (m roff) command(c *Command) {
	title := strings.TrimSpace("sextant " + c.Name + " " + c.Arguments)
	m.macro("SS", title)
	m.text(sentence(c.Usage))
	if c.Description != "" {
		m.put(".PP\n")
		m.text(c.Description)
	}
	var common []string
	for _, f := range c.Flags {
		if IsCommon(f) {
			common = append(common, f.Names[0])
			continue
		}
		m.flag(f)
	}
	if len(common) > 0 {
		m.put(".PP\n")
		m.text("Common options: " + strings.Join(common, ", ") + ".")
	}
}

func (m roff) flag(f Flag) {
	term := strings.Join(f.Names, ", ")
	if f.Placeholder != "" {
		term += " " + f.Placeholder
	}
	words := sentence(f.Usage)
	if f.Preset != "" && !strings.Contains(f.Usage, "default") {
		words += " The default is " + f.Preset + "."
	}
	if len(f.Variables) > 0 {
		words += " Variable: " + strings.Join(f.Variables, ", ") + "."
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
