package app

// ActivityWords are the words of the activity window.
type ActivityWords struct {
	Title, Search, Export, None, Empty, Choose string
	Answer, NoAnswer, IfUndone                 string
	Undo, Asked, Show                          string
	Who, What, Result, Details                 string // name the choices and the right side, for who doesn't see them
	// AllClients, Sorts and Outcomes name the choices; the last two as the variables of these names have them.
	AllClients string
	Sorts      []string
	Outcomes   []string
}

// Activity gives the words of the activity window.
func (w Words) Activity() ActivityWords {
	say := func(id string) string { return w.say("activity_"+id, nil) }
	a := ActivityWords{Title: say("title"), Search: say("search"), Export: say("export"), None: say("none"), Empty: say("empty"), Choose: say("choose"),
		Answer: say("answer"), NoAnswer: say("no_answer"), IfUndone: say("if_undone"), Undo: say("undo"), Asked: say("asked"), Show: say("show"), AllClients: say("all_clients"),
		Who: say("who"), What: say("what"), Result: say("result"), Details: say("details")}
	for _, s := range Sorts {
		if s == AnySort {
			a.Sorts = append(a.Sorts, say("sort_any"))
		} else {
			a.Sorts = append(a.Sorts, say("sort_"+string(s)))
		}
	}
	for _, o := range Outcomes {
		if o == "" {
			a.Outcomes = append(a.Outcomes, say("any_result"))
		} else {
			a.Outcomes = append(a.Outcomes, w.say("outcome_"+string(o), nil))
		}
	}
	return a
}

// Entries says how many entries there are.
func (w Words) Entries(n int) string { return w.count("activity_count", int64(n), nil) }

// Exported and NotExported say how an export ended, NotUndone why something can't be undone, Failed that something else failed.
func (w Words) Exported(file string) string {
	return w.say("activity_exported", holes{"File": Escape(file)})
}
func (w Words) NotExported(err error) string {
	return w.say("activity_not_exported", holes{"Why": escapeProse(err.Error())})
}
func (w Words) NotUndone(err error) string {
	return w.say("activity_not_undone", holes{"Why": escapeProse(err.Error())})
}
func (w Words) Failed(err error) string {
	return w.say("activity_failed", holes{"Why": escapeProse(err.Error())})
}

// Printed makes a text of many lines safe to show, as a diff's lines are.
func Printed(text string) string { return escapeDiff(text) }
