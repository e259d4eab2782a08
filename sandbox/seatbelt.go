package sandbox

import "errors"

// Param is a value passed to sandbox-exec as -D Name=Value.
type Param struct{ Name, Value string }

// SBPL prints the policy as a Seatbelt profile. No path stands in the text: each is a parameter.
func (p Policy) SBPL() (profile string, params []Param, err error) {
	return "", nil, errors.New("printing a profile: not built")
}
