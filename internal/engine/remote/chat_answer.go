package remote

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"pleat"
	"pleat/internal/words"
)

// chatResponse has the fields of a chat completion that the engine uses. Usage counts tokens; it may be absent.
type chatResponse struct {
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	} `json:"usage"`
}

// chatChoice is one of the answers of a completion.
type chatChoice struct {
	Message chatReply `json:"message"`
	Delta   chatReply `json:"delta"` // of an event of a stream, in place of a message
	Finish  string    `json:"finish_reason"`
}

// chatReply is a message of a model. One without content says in another field why.
type chatReply struct {
	Content chatText          `json:"content"`
	Refusal string            `json:"refusal"`
	Calls   []json.RawMessage `json:"tool_calls"`
}

// chatText is the content of a message: a text, a list of parts with texts, or null.
type chatText string

// UnmarshalJSON implements json.Unmarshaler. It skips parts that are not text, such as images and thoughts.
func (c *chatText) UnmarshalJSON(raw []byte) error {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if raw[0] != '[' {
		return json.Unmarshal(raw, (*string)(c))
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type != "reasoning" && p.Type != "thinking" {
			*c += chatText(p.Text)
		}
	}
	return nil
}

// errCut is the error for a stream that was cut off: its last event does not say that the answer has ended.
var errCut = errors.New("the stream has no end")

// parseChat parses a response: one completion, or the events of a stream, which some endpoints send in any case.
func parseChat(raw []byte) (chatResponse, error) {
	var out chatResponse
	if !streamed(raw) {
		return out, json.Unmarshal(raw, &out)
	}
	var text chatText
	var refusal, finish string
	done := false
	for line := range bytes.Lines(raw) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok {
			continue
		}
		if string(data) == "[DONE]" {
			done = true
			continue
		}
		if err := json.Unmarshal(data, &out); err != nil {
			return out, err
		}
		for _, c := range out.Choices[:min(1, len(out.Choices))] {
			text, refusal = text+c.Delta.Content, refusal+c.Delta.Refusal
			finish = cmp.Or(c.Finish, finish)
		}
		out.Choices = nil
	}
	if text != "" || refusal != "" || finish != "" {
		out.Choices = append(out.Choices, chatChoice{
			Message: chatReply{Content: text, Refusal: refusal},
			Finish:  finish,
		})
	}
	if !done && finish == "" {
		return out, errCut
	}
	return out, nil
}

// streamed reports whether a response has events of a stream. A comment may be before the first.
func streamed(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte("data:")) || bytes.HasPrefix(raw, []byte(":")) ||
		bytes.HasPrefix(raw, []byte("event:"))
}

// readChat reads the response to a call. A failure says why there is no answer: the model is still being loaded, which
// some endpoints say with status 200, or it has written thoughts alone, or nothing.
func readChat(raw []byte, reason string) (chatResponse, *pleat.Failure) {
	out, err := parseChat(raw)
	invalid := func(message string) (chatResponse, *pleat.Failure) {
		return out, pleat.Failed(pleat.FailOutputInvalid, message)
	}
	cut := errors.Is(err, errCut)
	if len(raw) > maxChatResponse || err != nil && !cut {
		return invalid("the chat endpoint sent an answer that is not a chat completion")
	}
	switch {
	case cut && reason == "":
		return out, &pleat.Failure{
			Kind: pleat.FailLoad, Message: "the chat endpoint's stream broke before the answer ended", Retry: true,
		}
	case reason != "" && (len(out.Choices) == 0 || out.finishReason() == "error"):
		return out, &pleat.Failure{
			Kind: pleat.FailLoad, Message: "the chat endpoint has no answer: " + reason, Retry: true,
		}
	case out.answer() != "":
		return out, nil
	case out.finishReason() == "content_filter":
		return invalid("the content filter of the chat endpoint withheld the answer")
	case out.finishReason() == "length":
		return invalid("the language model reached its bound of tokens before it gave an answer; " +
			"the operator can raise chat-tokens")
	case len(out.Choices) > 0 && out.Choices[0].Message.Refusal != "":
		return invalid("the language model refused to answer: " + oneLine(out.Choices[0].Message.Refusal))
	case len(out.Choices) > 0 && len(out.Choices[0].Message.Calls) > 0:
		return invalid("the language model called a tool in place of an answer; it has none")
	}
	return invalid("the language model gave an empty answer")
}

// finishReason returns why the answer ends: stop, length or content_filter; empty if the endpoint does not say.
func (r *chatResponse) finishReason() string {
	if len(r.Choices) == 0 {
		return ""
	}
	return r.Choices[0].Finish
}

// answer returns the answer without the thoughts before it, as valid text without control characters, at most
// maxChatAnswer bytes long. It says where the model was cut off by its bound of tokens.
func (r *chatResponse) answer() string {
	if len(r.Choices) == 0 {
		return ""
	}
	s := strings.Map(func(c rune) rune {
		if c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(string(r.Choices[0].Message.Content), "\ufffd"))
	if s = withoutThoughts(s); len(s) > maxChatAnswer {
		cut := maxChatAnswer
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	if s != "" && r.finishReason() == "length" {
		s += "\n\n(The answer ends here because the model reached its bound of tokens.)"
	}
	return s
}

// thoughtTag matches a mark at which the thoughts of a model begin or, by the group that matches, end. Models have
// tags of several names, brackets, and channels of which the last one is final.
var thoughtTag = regexp.MustCompile(
	`(?i)<(?:seed:)?(?:think|thinking|thought|reasoning)(?: [^<>]*)?>|\[think\]|◁think▷|` +
		`<\|channel\|>(?:analysis|commentary)\b|<\|channel>thought\b` +
		`|(</(?:seed:)?(?:think|thinking|thought|reasoning)>|\[/think\]|◁/think▷|` +
		`<\|channel\|>final<\|message\|>|<channel\|>)`)

// endOfTurn matches the marks that end the message of a model with channels.
var endOfTurn = regexp.MustCompile(`<\|(?:end|return|start)\|>`)

// withoutThoughts returns the text of a model without its thoughts, or the whole text if there are none. The first mark
// may be missing, since some models have it in their prompt. The last one is missing if the model was cut off.
func withoutThoughts(s string) string {
	var kept strings.Builder
	depth, at := 0, 0
	for _, m := range thoughtTag.FindAllStringSubmatchIndex(s, -1) {
		if depth == 0 {
			kept.WriteString(s[at:m[0]])
		}
		at = m[1]
		switch ends := m[2] >= 0; {
		case !ends:
			depth++
		case depth > 0 && s[m[0]:m[1]] != finalChannel:
			depth--
		default:
			depth = 0
			kept.Reset()
		}
	}
	if depth == 0 {
		kept.WriteString(s[at:])
	}
	return strings.TrimSpace(endOfTurn.ReplaceAllString(kept.String(), ""))
}

// finalChannel ends all thoughts before it.
const finalChannel = "<|channel|>final<|message|>"

// reasonOf returns the reason that an endpoint gives in the body of a response, without the key; empty: there is none.
func (c Chat) reasonOf(raw []byte) string {
	body := readFault(raw)
	reason := body.Message
	for _, part := range []json.RawMessage{body.Detail, body.choice(), body.Error} { // the last one counts
		reason = cmp.Or(faultText(part), reason)
	}
	if c.Key != "" {
		reason = strings.ReplaceAll(reason, c.Key, "…")
	}
	return oneLine(reason)
}

// chatFault has the fields in which endpoints say what is wrong, whatever their status.
type chatFault struct {
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Choices []struct {
		Error json.RawMessage `json:"error"`
	} `json:"choices"`
}

// readFault reads the faults of a response, or of the last event of a stream that has one. It ignores what has none.
func readFault(raw []byte) (out chatFault) {
	if !streamed(raw) {
		_ = json.Unmarshal(raw, &out)
		return out
	}
	for line := range bytes.Lines(raw) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			_ = json.Unmarshal(data, &out)
		}
	}
	return out
}

// choice returns the fault of the first choice; nil: there is none.
func (f *chatFault) choice() json.RawMessage {
	if len(f.Choices) == 0 {
		return nil
	}
	return f.Choices[0].Error
}

// status returns the status that a fault in a response of status 200 names; 0: it names none.
func (f *chatFault) status() int {
	var inner struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(f.Error, &inner) != nil || inner.Code < 400 || inner.Code > 599 {
		return 0
	}
	return inner.Code
}

// faultText returns the text of a fault: a text, an object with a message, or a list of objects with one.
func faultText(raw json.RawMessage) string {
	type fault struct {
		Message string `json:"message"`
		Msg     string `json:"msg"`
	}
	var text string
	var one fault
	var all []fault
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &one) == nil:
		return cmp.Or(one.Message, one.Msg)
	case json.Unmarshal(raw, &all) == nil && len(all) > 0:
		return cmp.Or(all[0].Message, all[0].Msg)
	}
	return ""
}

// oneLine returns a text of the endpoint in one line of bounded length, without control characters.
func oneLine(s string) string {
	return words.Shorten(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " "), 300)
}
