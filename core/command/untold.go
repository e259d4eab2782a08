package command

// untold are doubts because of which it can't be told which programs a script starts, in whatever layer of it.
const untold = DynamicName | Function | Alias | Trap | Eval | Source | Syntax | ControlByte | TooLong | TooDeep | UnknownShell

// Untold says why it can't be told which programs a plan starts by itself; "" if it can. What the programs and scripts then start is not
// covered.
func Untold(p Plan) string {
	d := p.Doubts & untold
	for s := range p.All() {
		d |= s.Doubts & untold
		for i := range s.Layers {
			if s.Layers[i].Program.Name == "" {
				d |= DynamicName
			}
		}
	}
	if d == 0 && len(p.Segments) == 0 {
		return "no command that can be told"
	}
	return d.String()
}
