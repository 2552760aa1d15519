package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/service"
)

func memoryFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "memory-limit", EnvVars: env("memory-limit"),
		Usage: "memory that the process tries to stay below, files that it maps not counted: `SIZE` (512MiB, 2GiB) or off (default: 1GiB, or three quarters of the container's if that is less); GOMEMLIMIT counts before it",
	}
}

// memoryBudget reads the flag: bytes, 0 where it is not written, or service.NoMemoryLimit.
func memoryBudget(c *cli.Context) (int64, error) {
	written := c.String("memory-limit")
	switch written {
	case "":
		return 0, nil
	case "off":
		return service.NoMemoryLimit, nil
	}
	n, ok := service.ParseSize(written)
	if !ok {
		return 0, wrongUse("--memory-limit %q: write a size such as 512MiB or 2GiB, or off", written)
	}
	return n, nil
}
