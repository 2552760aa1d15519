//go:build !linux

package documents

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func adoptOrphans() {}

func endConverter(p *os.Process) { killGroup(p) }

func endOrphans() {}

// StartConverter becomes the program. Limits of memory and files are set on Linux only.
func StartConverter(verdict *os.File, _ Limits, program []string) error {
	err := errNoProgram
	if len(program) > 0 {
		if _, err = exec.LookPath(program[0]); err == nil {
			syscall.CloseOnExec(int(verdict.Fd()))
			err = syscall.Exec(program[0], program, os.Environ()) //nolint:gosec // the operator's own
		}
	}
	_, _ = verdict.WriteString(err.Error())
	return err
}
