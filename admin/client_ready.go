package admin

import (
	"context"
	"net/http"
)

// Ready asks the service whether it is ready; the error says why it is not.
func (c *Client) Ready(ctx context.Context) error {
	answer, err := c.ask(ctx, http.MethodGet, "/readyz", nil, nil)
	if err != nil {
		return err
	}
	return answer.Close()
}
