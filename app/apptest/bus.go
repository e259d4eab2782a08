package apptest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Bus is a D-Bus message bus that nobody else is on.
type Bus struct {
	// Address is what DBUS_SESSION_BUS_ADDRESS is set to.
	Address string

	cmd    *exec.Cmd
	folder string
}

// StartBus starts dbus-daemon as a session bus that starts no services. It ends with ctx or Close.
func StartBus(ctx context.Context) (_ *Bus, err error) {
	b := &Bus{}
	defer func() {
		if err != nil {
			b.Close()
			err = fmt.Errorf("starting dbus-daemon: %w", err)
		}
	}()
	if b.folder, err = os.MkdirTemp("", "apptest"); err != nil {
		return nil, err
	}
	config := filepath.Join(b.folder, "bus.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, busConfig, b.folder), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "dbus-daemon", "--nofork", "--nosyslog", "--config-file="+config, "--print-address=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b.cmd = cmd
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("it says no address: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	b.Address = strings.TrimSpace(address)
	return b, nil
}

const busConfig = `<busconfig>
	<type>session</type>
	<listen>unix:dir=%s</listen>
	<auth>EXTERNAL</auth>
	<policy context="default">
		<allow send_destination="*" eavesdrop="true"/>
		<allow eavesdrop="true"/>
		<allow own="*"/>
	</policy>
</busconfig>
`

// Close ends the bus.
func (b *Bus) Close() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
	}
	_ = os.RemoveAll(b.folder)
}
