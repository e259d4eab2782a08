package job

import "os"

// Remove forgets a job that has ended, with its output and its file. One that runs is left alone.
func (e *Engine) Remove(j *Job) (removed bool) {
	if j.Running() {
		return false
	}
	e.forget(j)
	j.Output.removeFile()
	return true
}

func (o *Output) removeFile() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.path == "" {
		return
	}
	if root, err := os.OpenRoot(o.dir); err == nil {
		_ = root.Remove(o.name) // it goes with the session's folder at the latest
		root.Close()
	}
	o.path = ""
}
