package documents

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/fetcher/processes"
)

// ownGroup puts a process into a separate group, so that signals of a terminal do not reach it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a supervisor that does not end, with its group.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

// adoptOrphans makes processes that lose their parent children of this one, so that
// a converter's can be found, whatever group or session they went to.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it, the group is ended still
}

// endConverter kills the converter with its group and all that descends from this process.
func endConverter(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	for _, pid := range processes.Descendants(os.Getpid()) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// endOrphans kills and reaps remaining processes, for a limited time, because a process that is blocked in the kernel
// cannot be reaped.
func endOrphans() {
	for end := time.Now().Add(endGrace / 2); time.Now().Before(end); {
		for _, pid := range processes.Descendants(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case err == syscall.EINTR:
		case err != nil: // there are no children
			return
		case pid == 0:
			time.Sleep(time.Millisecond)
		}
	}
}

// StartConverter becomes the program, with limits that it and its children cannot raise. It returns only if that fails,
// and reports that to verdict.
func StartConverter(verdict *os.File, l Limits, program []string) error {
	err := startConverter(verdict, l, program)
	_, _ = verdict.WriteString(err.Error())
	return err
}

func startConverter(verdict *os.File, l Limits, program []string) error {
	if len(program) == 0 {
		return errNoProgram
	}
	syscall.CloseOnExec(int(verdict.Fd()))
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, converterNice) // systemd may not allow it
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, limit := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, maxConverterFile},
		{unix.RLIMIT_DATA, uint64(max(l.Memory, 0))},
	} {
		if err := unix.Setrlimit(limit.what, &unix.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return err
		}
	}
	return syscall.Exec(program[0], program, os.Environ()) //nolint:gosec // the operator's own
}

// converterNice gives the crawler priority over its converters.
const converterNice = 10
