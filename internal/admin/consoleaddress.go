package admin

import (
	"errors"
	"net/http"
)

// ConsoleAddress is the console's address, and the file of the operator's token.
type ConsoleAddress struct {
	URL       string `json:"url"`
	TokenFile string `json:"token_file"`
}

// errNoConsole is returned if the service does not listen on TCP.
var errNoConsole = &Declined{Err: errors.New("the service has no console: it was started with --listen off")}

// Shows sets the URL of the server's console, and what shows problems to browsers. Call it before Run.
func (s *Server) Shows(url string, problems func(http.ResponseWriter, *http.Request, *Problem)) {
	s.console, s.problems = url, problems
}

func (s *Server) consoleAddress(*call) (any, error) {
	if s.console == "" {
		return nil, errNoConsole
	}
	return ConsoleAddress{s.console, s.access.settings.OperatorToken}, nil
}
