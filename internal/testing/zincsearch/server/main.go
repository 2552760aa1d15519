// Command server is ZincSearch with the part of its interface that imitates Elasticsearch. Its own program cannot be built
// from its module, which lacks the files of its web pages.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/zincsearch/zincsearch/pkg/handlers/document"
	"github.com/zincsearch/zincsearch/pkg/handlers/index"
	"github.com/zincsearch/zincsearch/pkg/handlers/search"
)

func main() {
	app := gin.New()
	app.Use(gin.Recovery())
	app.POST("/es/:target/_bulk", document.ESBulk)
	app.POST("/es/:target/_search", search.SearchDSL)
	app.HEAD("/es/_index_template/:target", index.GetTemplate)
	app.PUT("/es/_index_template/:target", index.CreateTemplate)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: app, ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, server.Serve(listener))
}
