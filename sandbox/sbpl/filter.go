package sbpl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// env is what an expression may refer to.
type env struct{ params map[string]string }

// text evaluates an expression that is a string.
func (e env) text(n node) (string, error) {
	switch {
	case n.isString:
		return n.atom, nil
	case n.head() == "param" && len(n.list) == 2 && n.list[1].isString:
		value, ok := e.params[n.list[1].atom]
		if !ok {
			return "", fmt.Errorf("no value for the parameter %q", n.list[1].atom)
		}
		return value, nil
	}
	return "", fmt.Errorf("not a string: %s", n)
}

// filter evaluates a filter.
func (e env) filter(n node) (filter, error) {
	head := n.head()
	switch head {
	case "require-all", "require-any", "require-not":
		return e.combined(head, n)
	case "remote", "local":
		return e.socket(head, n)
	}
	if head == "" || len(n.list) != 2 {
		return nil, fmt.Errorf("unknown filter %s", n)
	}
	switch head {
	case "vnode-type":
		kind := n.list[1].atom
		return func(r Request) bool { return r.Kind == kind }, nil
	case "target":
		if n.list[1].atom != "same-sandbox" {
			return nil, fmt.Errorf("unknown filter %s", n)
		}
		return func(r Request) bool { return !r.Outside }, nil
	case "socket-domain", "socket-protocol":
		word := n.list[1].atom
		return func(r Request) bool { return r.Name == word || r.Name == "AF_SYSTEM" && head == "socket-protocol" }, nil
	case "extension": // tokens that the system hands out: a plain request has none
		return func(Request) bool { return false }, nil
	}
	text, err := e.text(n.list[1])
	if err != nil {
		return nil, err
	}
	if len(text) > 1025 {
		return nil, fmt.Errorf("a string of %d bytes: 1025 are the most", len(text))
	}
	switch head {
	case "literal", "path", "path-literal":
		return func(r Request) bool { return r.Path == text }, nil
	case "subpath":
		return func(r Request) bool {
			return r.Path == text || text == "/" && strings.HasPrefix(r.Path, "/") || strings.HasPrefix(r.Path, text+"/")
		}, nil
	case "prefix":
		return func(r Request) bool { return strings.HasPrefix(r.Path, text) }, nil
	case "regex", "ipc-posix-name-regex":
		re, err := pattern(text)
		if err != nil {
			return nil, err
		}
		if head == "regex" {
			return func(r Request) bool { return r.Path != "" && re.MatchString(r.Path) }, nil
		}
		return func(r Request) bool { return re.MatchString(r.Name) }, nil
	case "global-name", "sysctl-name", "ipc-posix-name", "iokit-registry-entry-class":
		return func(r Request) bool { return r.Name == text }, nil
	case "global-name-prefix", "sysctl-name-prefix", "ipc-posix-name-prefix":
		return func(r Request) bool { return strings.HasPrefix(r.Name, text) }, nil
	}
	return nil, fmt.Errorf("unknown filter %s", n)
}

func (e env) combined(head string, n node) (filter, error) {
	var filters []filter
	for _, sub := range n.list[1:] {
		f, err := e.filter(sub)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	switch {
	case len(filters) == 0:
		return nil, fmt.Errorf("(%s) of nothing", head)
	case head == "require-all":
		return all(filters), nil
	case head == "require-any":
		return any(filters), nil
	case len(filters) > 1:
		return nil, fmt.Errorf("(%s) of several", head)
	}
	return func(r Request) bool { return !filters[0](r) }, nil
}

// socket evaluates (remote …) and (local …).
func (e env) socket(head string, n node) (filter, error) {
	if len(n.list) < 2 || len(n.list) > 3 {
		return nil, fmt.Errorf("unknown filter %s", n)
	}
	switch n.list[1].atom {
	case "unix-socket":
		if len(n.list) == 2 {
			return func(r Request) bool { return r.Path != "" }, nil
		}
		return e.filter(n.list[2])
	case "ip", "tcp", "udp":
	default:
		return nil, fmt.Errorf("unknown filter %s", n)
	}
	if len(n.list) == 2 {
		return func(r Request) bool { return r.Host != "" }, nil
	}
	address, err := e.text(n.list[2])
	if err != nil {
		return nil, err
	}
	host, port, ok := strings.Cut(address, ":")
	number, err := strconv.Atoi(port)
	if !ok || host != "*" && host != "localhost" {
		return nil, fmt.Errorf("host must be * or localhost in %q", address)
	}
	if port != "*" && (err != nil || number < 1 || number > 65535) {
		return nil, fmt.Errorf("no port in %q", address)
	}
	return func(r Request) bool {
		// As a local address "localhost" also matches the others of this computer.
		hostMatches := host == "*" || r.Host == "localhost" || head == "local"
		return r.Host != "" && hostMatches && (port == "*" || r.Port == number)
	}, nil
}

// pattern compiles a regular expression. It takes only what POSIX and Go read the same way.
func pattern(text string) (*regexp.Regexp, error) {
	if strings.ContainsAny(text, `\{}`) || strings.Contains(text, "(?") || strings.Contains(text, "*?") || strings.Contains(text, "[[:") {
		return nil, fmt.Errorf("a regular expression that may be read in two ways: %q", text)
	}
	re, err := regexp.Compile("(?s)" + text)
	if err != nil {
		return nil, fmt.Errorf("a regular expression: %w", err)
	}
	return re, nil
}
