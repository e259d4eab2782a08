// Whether the system starts this app at login: SMAppService's status, or -1 where there is none (before macOS 13).
int handrail_login_status(void);
// Registers the app (1) or takes it out (0): 0, -1 where there is no such service, or the error's code.
int handrail_login(int on);
// Shows the login items in System Settings.
void handrail_login_settings(void);
