package admin

import _ "embed"

//go:embed openapi.yaml
var openAPIText []byte

// OpenAPI is the description of the API, in YAML.
func OpenAPI() []byte { return openAPIText }

func openAPI(*call) (any, error) { return document{"application/yaml", OpenAPI()}, nil }
