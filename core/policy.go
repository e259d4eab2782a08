package core

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"handrail/core/approval"
	"handrail/core/audit"
)

// policyAsked is what the person was asked last about a widening of the policy file.
type policyAsked struct {
	asking bool
	about  string // the file's SHA-256
	again  time.Time
}

// AskPolicy asks the person, where the policy file would allow more than they have agreed to, whether it may. It returns at
// once. Only their click makes it count; while they aren't asked, or refuse, no more is allowed than before. A file that they
// refused isn't asked about again until it changes; one that they weren't shown, or didn't answer about, after a time.
func (h *Host) AskPolicy() {
	if h.opts.Asker == nil {
		return
	}
	r, waiting, err := h.widening()
	if err != nil || r.Policy == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if a := &h.policy; h.life.Err() != nil || a.asking || a.about == r.Policy.SHA256 && (a.again.IsZero() || time.Now().Before(a.again)) {
		return
	}
	h.policy = policyAsked{asking: true, about: r.Policy.SHA256}
	h.asking.Go(func() {
		again := h.askPolicy(r, waiting)
		h.mu.Lock()
		h.policy.asking, h.policy.again = false, again
		h.mu.Unlock()
	})
}

// widening is the question about the policy file as it is now; its Policy is nil if nothing waits that can be asked about.
func (h *Host) widening() (r approval.Request, waiting []string, err error) {
	_, status := h.gate.Policy.Now()
	waiting = status.Waiting
	if len(waiting) == 0 || status.NoKey || len(waiting) > approval.MaxListed || len(strings.Join(waiting, "\n")) > approval.MaxCommand {
		return r, nil, nil // security audit says what waits; what can't be shown whole can't be asked for
	}
	text, err := os.ReadFile(status.File)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // a file that was taken away is as one without a word
		return r, nil, err
	}
	sum := sha256.Sum256(text)
	r.Kind, r.Policy = approval.WidenPolicy, &approval.Policy{File: status.File, SHA256: hex.EncodeToString(sum[:]), Wider: slices.Clone(waiting)}
	return r, waiting, nil
}

// askPolicy asks and does what the person says. It gives when the same may be asked again; the zero time is never.
func (h *Host) askPolicy(r approval.Request, waiting []string) (again time.Time) {
	record := func(k audit.Kind, by, outcome, detail string) error {
		return h.audit.Append(audit.Record{Kind: k, Text: "a wider policy for commands: " + strings.Join(waiting, "; "), Paths: []string{r.Policy.File}, By: by, Outcome: outcome, Detail: detail})
	}
	if err := record(audit.Question, "", "", ""); err != nil {
		return time.Now().Add(approval.Lives)
	}
	d := h.queue.Ask(h.life, nil, h.life, "policy\x00"+r.Policy.SHA256, r, approval.Lives).Decision
	outcome, detail, recorded := d.Verdict.String(), d.Detail, false
	if d.Verdict == approval.Allowed {
		err := h.agree(d, func() error {
			err := record(audit.Decision, d.Surface, outcome, detail)
			recorded = err == nil
			return err
		})
		if err != nil {
			outcome, detail, recorded = "failed", err.Error(), false
		}
	}
	if !recorded {
		if err := record(audit.Decision, d.Surface, outcome, detail); err != nil {
			h.log.Error("the activity log failed", "error", err)
		}
	}
	h.changed()
	if d.Verdict == approval.Refused || outcome == approval.Allowed.String() {
		return time.Time{}
	}
	return time.Now().Add(approval.Lives)
}

// agree has the policy file count, if it is still what the person was shown and that could be recorded.
func (h *Host) agree(d approval.Decision, record func() error) error {
	now, waiting, err := h.widening()
	if err != nil {
		return err
	}
	if err := d.Covers(now); err != nil {
		return fmt.Errorf("agreeing to the policy file: %w", err)
	}
	if err := h.gate.Policy.CanAgree(waiting); err != nil {
		return err
	}
	if err := record(); err != nil {
		return err
	}
	return h.gate.Policy.Agree(waiting)
}
