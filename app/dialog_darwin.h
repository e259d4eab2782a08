#ifndef HANDRAIL_DIALOG_DARWIN_H
#define HANDRAIL_DIALOG_DARWIN_H

#include <stdbool.h>
#include <stdint.h>

// One left-button event: whether there was one on Allow or on Always Allow, how long the window had stood still then, and three fields of
// its CGEvent.
struct handrail_click {
	bool on_allow;
	bool on_always;
	double still;
	bool has_event;
	int64_t source_pid;
	int64_t source_state;
};

// How a paragraph of the question looks.
enum handrail_style { handrail_title, handrail_title_bold, handrail_label, handrail_prose, handrail_exact, handrail_heading,
	handrail_part, handrail_program, handrail_redirect, handrail_delete }; // parts of an exact paragraph, which handrail_exact ends

void handrail_watch(void *window, void *allow, void *always);
double handrail_still(void);
struct handrail_click handrail_down(void);
struct handrail_click handrail_up(void);
void handrail_write(void *text_view, const char *utf8, int style);
bool handrail_can_authenticate(void);
void handrail_authenticate(const char *reason);
int handrail_same_code(int pid, const char *path);
bool handrail_has_session(void);
char *handrail_languages(void);

#endif
