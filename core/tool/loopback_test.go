package tool

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"
)

// What a server that a command started answers, the person gets on this computer's own address once they allowed loopback, until
// its job ends. Without that they get nothing of it, nor with the network alone.
func TestServerOfAJob(t *testing.T) {
	w := newWorld(t, true)
	w.rawText = true
	w.put("w/proj/page.txt", []byte("hello from the sandbox\n"))
	serves := regexp.MustCompile(`port (\d+) `)
	start := func(job int) (port string) {
		t.Helper()
		w.play(`{"bash_bg": {"action": "start", "command": "PYTHONUNBUFFERED=1 python3 -m http.server 0", "workdir": "proj"}}`)
		look := fmt.Sprintf(`{"bash_bg": {"action": "status", "job_id": "job-%d", "wait": 30}}`, job)
		for range 1000 { // each waits for more output, which may come a line at a time
			said := w.play(look)
			if m := serves.FindStringSubmatch(said); m != nil {
				return m[1]
			}
			if !strings.Contains(said, "running") {
				return said
			}
		}
		t.Fatal("it neither serves nor ends")
		return ""
	}
	client := http.Client{Timeout: time.Minute}
	get := func(port string) (string, error) {
		answer, err := client.Get("http://127.0.0.1:" + port + "/page.txt")
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return string(text), err
	}
	client.Transport = &http.Transport{DisableKeepAlives: true}

	if port := start(1); strings.Contains(port, "PermissionError") && runtime.GOOS == "darwin" { // only Linux has networks for one command
	} else if text, err := get(port); err == nil || strings.ContainsFunc(port, unicode.IsLetter) {
		t.Errorf("without any grant, at %s: %q", port, text)
	}
	w.person.will("allow")
	w.play(`{"request_access": {"level": "network"}}`)
	if said := start(2); !strings.Contains(said, "PermissionError") {
		t.Errorf("with the network alone: %s", said)
	}
	w.person.will("allow")
	w.play(`{"request_access": {"level": "loopback"}}`)
	port := start(3)
	if text, err := get(port); err != nil || text != "hello from the sandbox\n" {
		t.Errorf("with loopback, at %s: %q, %v", port, text, err)
	}
	w.play(`{"bash_bg": {"action": "kill", "job_id": "job-3"}}`)
	if text, err := get(port); err == nil {
		t.Errorf("the job has ended: %q", text)
	}
}
