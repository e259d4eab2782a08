package app

import (
	"context"
	"strings"
	"time"

	"handrail/core/assistant"
	"handrail/core/client"
	"handrail/core/hint"
	"handrail/core/server"
)

// Connector is the core as the connect window sees it: what it needs besides the rest of WindowHost.
type Connector interface {
	// Assistants lists those that can be set up; problem says why none can be from where our program stands.
	Assistants() (all []assistant.Assistant, problem error)
	ConnectAssistant(id string) (assistant.Change, error)
	DisconnectAssistant(id string) (assistant.Change, error)
	// OpenPairing lets one new assistant ask within some minutes; Pairing is where, and until when, zero when none may.
	OpenPairing(name string, level client.Level) (url string, err error)
	StopPairing()
	Pairing() (url string, until time.Time)
	// AskToken has the person asked, in a dialog, and makes a token if they allow it. It waits for them.
	AskToken(ctx context.Context, name string) (token, url string, err error)
	RevokeToken(name string) error
	// Tunnel is the host name of the person's own HTTPS tunnel, "" for none, and the one that waits for their click.
	Tunnel() (host, wanted string)
}

// ConnectAsk is what the connect window asks. Nothing of it gives anybody a right: an assistant that is set up is asked about when it
// calls, one that pairs when it comes, and a token is asked about in a dialog.
type ConnectAsk struct {
	Do ConnectDeed `json:"do"`
	// ID is the assistant that is connected or disconnected, Name what the client of a token will be called, or a tunnel's host name.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// ConnectDeed is what the connect window wants. The zero value does nothing and is an error.
type ConnectDeed string

const (
	LookAtAssistants ConnectDeed = "look"
	ConnectOne       ConnectDeed = "connect"
	DisconnectOne    ConnectDeed = "disconnect"
	PairOne          ConnectDeed = "pair"
	StopPairing      ConnectDeed = "stop_pairing"
	MakeToken        ConnectDeed = "token"      // asks; the token comes later, or why there is none
	TokenKept        ConnectDeed = "token_kept" // it is in the clipboard; without this it is taken back
	TokenLost        ConnectDeed = "token_lost"
	SetTunnel        ConnectDeed = "tunnel" // asks; without a name it is taken away
)

// Connections is how assistants stand to Handrail, the answer to every ConnectAsk.
type Connections struct {
	Assistants []assistant.Assistant `json:"assistants"`
	// Place is the code of the hint that says why no assistant can be set up from where Handrail stands; "": they can.
	Place string `json:"place,omitempty"`
	// PairAt is the address that an assistant is given that pairs, Until when the time for that is over; empty when none may.
	PairAt string    `json:"pair_at,omitempty"`
	Until  time.Time `json:"until,omitzero"`
	// Tunnel is the address by which assistants on the web reach Handrail, "" for none; TunnelWaits is the host name that the person is
	// asked about.
	Tunnel      string `json:"tunnel,omitempty"`
	TunnelWaits string `json:"tunnel_waits,omitempty"`
}

// NewToken is a token that was just made, or the code of the hint that says why none was.
type NewToken struct {
	Name  string `json:"name"`
	Token string `json:"token,omitempty"`
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}

// connect does what the connect window asks.
func (x *window) connect(a ConnectAsk) (*Connections, error) {
	var err error
	switch a.Do {
	case LookAtAssistants:
		x.mu.Lock()
		x.told = false
		x.mu.Unlock()
	case ConnectOne:
		_, err = x.host.ConnectAssistant(a.ID)
	case DisconnectOne:
		_, err = x.host.DisconnectAssistant(a.ID)
	case PairOne:
		_, err = x.host.OpenPairing("", client.Ask)
	case StopPairing:
		x.host.StopPairing()
	case MakeToken:
		kept := make(chan bool, 1)
		if x.kept.CompareAndSwap(nil, &kept) { // else the person is being asked
			x.asked.Go(func() { x.token(a.Name, kept) })
		}
	case TokenKept, TokenLost:
		if kept := x.kept.Swap(nil); kept != nil {
			*kept <- a.Do == TokenKept
		}
	case SetTunnel:
		_, err = x.host.ChangeSetting(SettingChange{Name: tunnelSetting, Value: a.Name})
	default:
		err = hint.New("unknown_deed", "the window asked for something that there isn't")
	}
	c := new(Connections)
	var problem error
	c.Assistants, problem = x.host.Assistants()
	for i := range c.Assistants {
		c.Assistants[i].Problem = nil // it is for developers
	}
	c.Place = hint.Code(problem)
	c.PairAt, c.Until = x.host.Pairing()
	var tunnel string
	if tunnel, c.TunnelWaits = x.host.Tunnel(); tunnel != "" {
		c.Tunnel = "https://" + tunnel + server.Path
	}
	return c, err
}

// token has the person asked about a token, and hands it to the window. One that the window doesn't say it has kept is taken back.
func (x *window) token(name string, kept <-chan bool) {
	token, url, err := x.host.AskToken(x.life, name)
	if err != nil {
		x.kept.Store(nil)
		x.say(WindowSays{Token: &NewToken{Name: name, Error: hint.Code(err)}})
		return
	}
	stays := false
	if x.say(WindowSays{Token: &NewToken{Name: name, Token: token, URL: url}}) {
		select {
		case stays = <-kept:
		case <-x.life.Done():
		}
	}
	if !stays {
		_ = x.host.RevokeToken(name)
	}
}

// ConnectWords are the words of the connect window.
type ConnectWords struct {
	Title, Intro                                  string
	Here, None                                    string
	Connect, Remove, Try                          string
	Web, WebWhy, Pair, PairGive, Stop, Copy       string
	Token, TokenWhy, TokenName, CopyToken, Asking string
	Public, More, Less                            string
	TunnelName, SetTunnel, TunnelGive             string
}

// ConnectWords gives the words of the connect window.
func (w Words) ConnectWords() ConnectWords {
	say := func(id string) string { return w.say("connect_"+id, nil) }
	return ConnectWords{Title: say("title"), Intro: say("intro"), Here: say("here"), None: say("none"), Connect: say("connect"), Remove: say("remove"), Try: say("try"),
		Web: say("web"), WebWhy: say("web_why"), Pair: say("pair"), PairGive: say("pair_give"), Stop: say("stop"), Copy: say("copy"),
		Token: say("token"), TokenWhy: say("token_why"), TokenName: say("token_name"), CopyToken: say("copy_token"), Asking: say("asking"),
		Public: say("public"), More: say("more"), Less: say("less"),
		TunnelName: say("tunnel_name"), SetTunnel: say("set_tunnel"), TunnelGive: say("tunnel_give")}
}

// ConnectPlace says what to do where no assistant can be set up from where Handrail stands, by the code that Connections has.
func (w Words) ConnectPlace(code string) string {
	return AssistantProblem(w, assistant.Assistant{Name: "Handrail"}, hint.New(code, ""))
}

// ConnectElsewhere names the assistants that aren't on this computer.
func (w Words) ConnectElsewhere(names []string) string {
	return w.say("connect_elsewhere", holes{"Names": strings.Join(names, ", ")})
}

// TimeLeft says how much is left of a time, in minutes and seconds.
func (w Words) TimeLeft(left time.Duration) string {
	return w.say("connect_left", holes{"Time": time.Unix(int64(max(left, 0)/time.Second), 0).UTC().Format("4:05")})
}

// TunnelFailed says why a tunnel's host name wasn't taken, by a hint's code.
func (w Words) TunnelFailed(code string) string {
	switch code {
	case "bad_host", "no_keychain":
		return w.say("connect_tunnel_"+code, nil)
	}
	return w.say("connect_tunnel_other", nil)
}

// TokenCopied says what to do with a token that is in the clipboard now, and for how long it is; TokenFailed why there is none.
func (w Words) TokenCopied(t NewToken, stays time.Duration) string {
	return w.count("connect_token_copied", int64(stays/time.Second), holes{"Name": Escape(t.Name), "Address": Escape(t.URL)})
}

// TokenFailed says why a token wasn't made, or couldn't be copied, by a hint's code.
func (w Words) TokenFailed(code string) string {
	switch code {
	case "no_http", "bad_name", "name_taken", "paused", "refused", "no_clipboard":
		return w.say("connect_token_"+code, nil)
	}
	return w.say("connect_token_other", nil)
}
