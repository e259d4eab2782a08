// Package packaging is the room of what turns the source into something that people install; its programs are the files and
// folders beside this one, and README.md is the playbook. Its tests run them, with stand-ins for what only a Mac has.
package packaging
