package server

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"handrail/core/client"
	"handrail/core/hint"
)

const (
	// maxSocketPath is what fits everywhere (sun_path: 104 bytes on macOS, 108 on Linux), with room for the lock's name.
	maxSocketPath = 99
	// maxClients is how many clients the socket serves at once.
	maxClients = 128
)

// SocketPath is where the socket of a state folder is: in it, or, when that path would be too long for a socket, in a
// folder of the user's own below /tmp. App and bridge find the same place without asking each other.
func SocketPath(state string) string {
	path := filepath.Join(state, "handrail.sock")
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(state))
	return filepath.Join("/tmp", "handrail-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:8])+".sock")
}

// Socket is the endpoint on a Unix socket.
type Socket struct {
	server   *Server
	listener *net.UnixListener
	unlock   func()
}

// ServeSocket serves bridges on the Unix socket at path until ctx is over, which is no error.
func (s *Server) ServeSocket(ctx context.Context, path string) error {
	socket, err := s.ListenSocket(path)
	if err != nil {
		return err
	}
	return socket.Serve(ctx)
}

// ListenSocket makes the socket, mode 0600, in a folder that is the user's alone (made with mode 0700 if it isn't there;
// one that others can enter is refused). What another process left there is removed, but only if nobody answers on it.
// Serve must follow.
func (s *Server) ListenSocket(path string) (_ *Socket, err error) {
	if s.opts.Level == nil {
		return nil, errors.New("serving the socket: Options.Level is needed")
	}
	if len(path) > maxSocketPath {
		return nil, hint.New("path_too_long", fmt.Sprintf("the socket's path has %d bytes, %d fit", len(path), maxSocketPath)).
			Then("use a shorter state folder")
	}
	if err := privateFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	unlock, err := lockSocket(path + ".lock")
	if errors.Is(err, errLocked) {
		return nil, alreadyRunning(path)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the socket %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("making the socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, fmt.Errorf("making the socket %s: %w", path, err)
	}
	return &Socket{server: s, listener: listener, unlock: unlock}, nil
}

func alreadyRunning(path string) error {
	return hint.New("already_running", "Handrail is already running").Because("it answers on " + path).Then("quit it first")
}

// privateFolder makes a folder that only the user can enter, or checks that it is one. Its parent is taken as it is.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the socket's folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at the socket's folder: %w", err)
	}
	uid, known := owner(info)
	switch {
	case !info.IsDir():
		err = fmt.Errorf("%s is not a folder", dir)
	case !known || uid != os.Getuid():
		err = fmt.Errorf("%s belongs to another user", dir)
	case info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("others can enter %s (mode %04o)", dir, info.Mode().Perm())
	default:
		return nil
	}
	return hint.New("folder_not_private", "the socket can't be made there").Because(err.Error()).Then("chmod 700 " + dir + ", or use another folder").Wrap(err)
}

// removeStale removes a socket that nobody answers on. It is an error if somebody does, or if it isn't a socket.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for the socket: %w", err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there already and isn't a socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return alreadyRunning(path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("asking whether somebody answers on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the old socket: %w", err)
	}
	return nil
}

// Serve serves until ctx is over, which is no error. The socket is then removed and every client's connection ended.
func (s *Socket) Serve(ctx context.Context) error {
	defer s.unlock()
	defer context.AfterFunc(ctx, func() { s.listener.Close() })()
	defer s.listener.Close()
	var clients sync.WaitGroup
	defer clients.Wait()
	places := make(chan struct{}, maxClients)
	for {
		conn, err := s.listener.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
			select { // out of files for now
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("serving the socket: %w", err)
		}
		select {
		case places <- struct{}{}:
		default:
			s.server.opts.Log.Warn("refused a client on the socket", "why", "too many are connected")
			conn.Close()
			continue
		}
		clients.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			if err := s.serve(ctx, conn); err != nil {
				s.server.opts.Log.Info("a client on the socket ended", "why", err)
			}
		})
	}
}

func (s *Socket) serve(ctx context.Context, conn *net.UnixConn) error {
	uid, pid, err := peer(conn)
	if err != nil {
		return fmt.Errorf("asking who connected: %w", err)
	}
	if err := samePerson(uid, os.Getuid()); err != nil {
		return err
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	if err := s.server.welcome(conn, r); errors.Is(err, errDone) {
		return nil
	} else if err != nil {
		return err
	}
	if !unhook() {
		return nil
	}
	return s.server.serveLines(ctx, newLines(r, conn, conn.Close), client.Caller(pid))
}

// samePerson refuses everyone but the user, root too.
func samePerson(uid, own int) error {
	if uid != own {
		return fmt.Errorf("the user with id %d is at the other end, not %d", uid, own)
	}
	return nil
}
