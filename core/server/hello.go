package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"handrail/core/client"
	"handrail/core/hint"
)

// socketProtocol is what both ends of the socket must speak alike. It changes when the hello or what follows it does.
const socketProtocol = 1

// hello is the first line each way on the socket, the bridge's first. After it come MCP's own lines.
type hello struct {
	Product  string `json:"product"`
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	// URL is where the server listens for HTTP, if it does.
	URL string `json:"url,omitempty"`
	// Pair is the other side's wish that a new assistant may ask to connect; Pairing is then the server's answer: the address for
	// it. Nothing follows.
	Pair    *pairWish `json:"pair,omitempty"`
	Pairing string    `json:"pairing,omitempty"`
	// Show is the other side's wish that the app shows itself, since the person has started it again; Shown is then the server's answer.
	// Nothing follows.
	Show  bool `json:"show,omitempty"`
	Shown bool `json:"shown,omitempty"`
	// Error is the server's: why it ends the connection.
	Error string `json:"error,omitempty"`
}

type pairWish struct {
	Name  string `json:"name,omitempty"`
	Level string `json:"level"`
}

const (
	maxHello  = 4 << 10 // bytes
	helloTime = 5 * time.Second
)

func ownHello() hello { return hello{Product: Product, Version: Version, Protocol: socketProtocol} }

// greet is the bridge's side: it says hello and reads the server's.
func greet(conn net.Conn, r *bufio.Reader, own hello) (server hello, err error) {
	conn.SetDeadline(time.Now().Add(helloTime))
	defer conn.SetDeadline(time.Time{})
	sent := sendHello(conn, own)
	server, err = readHello(r) // also when it has hung up: it may have said why
	if err == io.EOF && sent != nil {
		err = sent
	}
	if err != nil {
		return server, fmt.Errorf("exchanging hellos: %w", err)
	}
	return server, checkServer(server)
}

// checkServer says, to the bridge, what is wrong with the server's hello.
func checkServer(server hello) error {
	switch {
	case server.Product != Product:
		return hint.New("not_handrail", "what answers on the socket isn't Handrail")
	case server.Protocol != socketProtocol:
		return hint.New("version_mismatch", fmt.Sprintf("this bridge is version %s, the running Handrail is version %s", Version, server.Version)).
			Then("quit Handrail and start it again, or connect the client again")
	case server.Error != "":
		return hint.New("refused", "Handrail doesn't take this connection").Because(server.Error)
	}
	return nil
}

// welcome is the server's side: it reads the bridge's hello and answers it. An error has been told to the other side; errDone is
// that of one that wants nothing more.
func (s *Server) welcome(conn net.Conn, r *bufio.Reader) error {
	conn.SetDeadline(time.Now().Add(helloTime))
	defer conn.SetDeadline(time.Time{})
	answer := ownHello()
	bridge, err := readHello(r)
	if err == nil {
		err = checkBridge(bridge)
	}
	if err == nil && bridge.Pair != nil {
		if answer.Pairing, err = s.openPairing(*bridge.Pair); err == nil {
			return errors.Join(errDone, sendHello(conn, answer))
		}
	}
	if err == nil && bridge.Show {
		if err = s.show(); err == nil {
			answer.Shown = true
			return errors.Join(errDone, sendHello(conn, answer))
		}
	}
	if answer.URL = s.url(); err != nil {
		answer.Error = err.Error()
	}
	return errors.Join(err, sendHello(conn, answer))
}

var errDone = errors.New("the hello was all that it wanted")

func (s *Server) show() error {
	if s.opts.Show == nil {
		return errors.New("there is no window here")
	}
	return s.opts.Show()
}

func (s *Server) openPairing(wish pairWish) (url string, err error) {
	level, err := client.ParseLevel(wish.Level)
	switch {
	case s.opts.OpenPairing == nil:
		return "", errors.New("assistants can't be paired here")
	case err != nil:
		return "", err
	}
	return s.opts.OpenPairing(wish.Name, level)
}

// checkBridge says, to the server, what is wrong with a bridge's hello.
func checkBridge(bridge hello) error {
	if bridge.Product != Product {
		return errors.New("this socket is for `handrail stdio`; start that as the client's command")
	}
	if bridge.Protocol != socketProtocol {
		return fmt.Errorf("the bridge is version %s, Handrail is version %s; connect the client again", bridge.Version, Version)
	}
	return nil
}

func sendHello(w io.Writer, h hello) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// readHello takes unknown fields: a later version may say more.
func readHello(r *bufio.Reader) (hello, error) {
	line, err := readLine(r, maxHello)
	if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
		return hello{}, err
	}
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return hello{}, errors.New("the first line is not a hello")
	}
	return h, nil
}
