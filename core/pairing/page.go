package pairing

import (
	"fmt"
	"html"
	"net/http"
)

// words are what a page says, in English and Thai: a browser's language isn't Handrail's, so both are there.
type words struct{ english, thai string }

var (
	pageWaiting = words{"Answer in Handrail. This page goes on by itself.", "ตอบคำถามใน Handrail แล้วหน้านี้จะไปต่อเอง"}
	pageAllowed = words{"Connected. You can close this page.", "เชื่อมต่อแล้ว ปิดหน้านี้ได้"}
	pageRefused = words{"Not connected. You can close this page.", "ไม่ได้เชื่อมต่อ ปิดหน้านี้ได้"}
	pageClosed  = words{"Handrail isn’t waiting for an assistant. In Handrail, choose Connect, then try again in your assistant.", "Handrail ไม่ได้รอผู้ช่วยอยู่ เลือก “เชื่อมต่อ” ใน Handrail แล้วลองอีกครั้งจากผู้ช่วยของคุณ"}
	pageBusy    = words{"Handrail is already asking you about an assistant. Answer there first, then try again in your assistant.", "Handrail กำลังถามคุณเรื่องผู้ช่วยอยู่แล้ว ตอบก่อน แล้วลองอีกครั้งจากผู้ช่วยของคุณ"}
	pageStrange = words{"This page can’t be opened this way. Begin in your assistant, in a current browser.", "เปิดหน้านี้ด้วยวิธีนี้ไม่ได้ ให้เริ่มจากผู้ช่วยของคุณ และใช้เบราว์เซอร์รุ่นปัจจุบัน"}
	pageWrong   = words{"The assistant asked in a way that Handrail doesn’t accept. It isn’t connected.", "ผู้ช่วยขอมาในแบบที่ Handrail ไม่รับ จึงยังไม่ได้เชื่อมต่อ"}
)

const pageStart = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><title>Handrail</title>
<style>
:root { color-scheme: light dark; }
body { font: 1.125rem/1.6 system-ui, sans-serif; margin: 20vh auto 0; max-width: 34rem; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; }
small { display: block; overflow-wrap: anywhere; }
</style></head><body><h1>Handrail</h1>
`

func (s words) html() string {
	return fmt.Sprintf("<p>%s</p>\n<p lang=\"th\">%s</p>\n", html.EscapeString(s.english), html.EscapeString(s.thai))
}

// onward leads the browser to an address, which can't be seen by the next one as the page that it came from.
func onward(address string) string {
	a := html.EscapeString(address)
	return fmt.Sprintf(`<meta http-equiv="refresh" content="0; url=%s"><p><a href="%s" rel="noreferrer">→</a></p>`+"\n", a, a)
}

// page is a page that is whole. Nothing that a client said of itself stands on it but where it takes the answer; why is for
// developers, in words of ours.
func (p *Pairing) page(w http.ResponseWriter, status int, s words, why error, to ...string) {
	p.opts.Log.Info("refused a browser", "status", status, "why", why.Error())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s%s<small>%s</small>\n", pageStart, s.html(), html.EscapeString(why.Error()))
	for _, address := range to {
		fmt.Fprint(w, onward(address))
	}
}

// wait shows that the person is being asked, and gives what ends the page with the answer. The connection stays open meanwhile, so
// that it is known when the person closes the page; no script is needed, and no other address that could be guessed.
func (p *Pairing) wait(w http.ResponseWriter) (finish func(s words, to string)) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "%s<div id=\"now\">%s</div>\n", pageStart, pageWaiting.html())
	http.NewResponseController(w).Flush()
	return func(s words, to string) {
		fmt.Fprintf(w, "<style>#now { display: none; }</style>\n%s%s", s.html(), onward(to))
	}
}
