#ifndef HANDRAIL_ATTENDED_DARWIN_H
#define HANDRAIL_ATTENDED_DARWIN_H

#include <stdbool.h>

// Whether this user's session is in front and its screen isn't locked; also where there is no session to tell of.
bool handrail_screen_seen(void);
// Shows a notification, in place of one with the same identifier.
void handrail_notify(const char *id, const char *title, const char *text);
// Takes it back.
void handrail_notified(const char *id);

#endif
