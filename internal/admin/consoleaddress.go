package admin

import (
	"errors"
)

// ConsoleAddress says where the console is, and which file holds the operator's token.
type ConsoleAddress struct {
	URL       string `json:"url"`
	TokenFile string `json:"token_file"`
}

// errNoConsole is the answer where nothing listens on TCP.
var errNoConsole = &Declined{Err: errors.New("the service has no console: it was started with --listen off")}

// Shows tells the server, before Run, that it has a console at a URL.
func (s *Server) Shows(url string) { s.console = url }

func (s *Server) consoleAddress(*call) (any, error) {
	if s.console == "" {
		return nil, errNoConsole
	}
	return ConsoleAddress{s.console, s.access.settings.OperatorToken}, nil
}
