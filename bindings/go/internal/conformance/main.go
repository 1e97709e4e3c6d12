// Command conformance answers the requests of testdata/conformance.py by this module (testdata/README.md, "The
// protocol"):
//
//	python3 testdata/conformance.py go run -C bindings/go ./internal/conformance
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	livebuf "github.com/livebuf/livebuf/bindings/go"
)

// errSkip is the error of a request that this program does not know.
var errSkip = errors.New("skip")

// answer does what a request asks for. It gives what stands behind "ok ".
func answer(request []string) (string, error) {
	// Words that are missing are empty, and then name no file.
	word := func(i int) string {
		if i < len(request) {
			return request[i]
		}
		return ""
	}
	data, err := os.ReadFile(word(1))
	if err != nil {
		return "", err
	}
	switch word(0) {
	case "read", "validate":
		doc, err := livebuf.Open(data)
		if err != nil {
			return "", err
		}
		if err := doc.Validate(); err != nil || word(0) == "validate" {
			return "", err
		}
		text, err := doc.MarshalJSON()
		return string(text), err
	case "encode":
		var options []livebuf.Option
		if word(3) == "recognize" {
			options = append(options, livebuf.Recognize)
		}
		made, err := livebuf.FromJSON(data, options...)
		if err != nil {
			return "", err
		}
		return "", os.WriteFile(word(2), made, 0o644)
	case "set":
		made, err := livebuf.FromJSON([]byte(word(3)))
		if err != nil {
			return "", err
		}
		value, err := livebuf.Open(made)
		if err != nil {
			return "", err
		}
		editor, err := livebuf.Edit(data)
		if err != nil {
			return "", err
		}
		if err := editor.SetPointer(word(2), value.Root()); err != nil {
			return "", err
		}
		return "", os.WriteFile(word(4), editor.Bytes(), 0o644)
	}
	return "", errSkip
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var request []string
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			fmt.Fprintln(os.Stderr, "this is no request:", err)
			os.Exit(2)
		}
		text, err := answer(request)
		var e *livebuf.Error
		switch {
		case err == nil && text != "":
			fmt.Println("ok " + text)
		case err == nil:
			fmt.Println("ok")
		case err == errSkip:
			fmt.Println("skip")
		case errors.As(err, &e):
			fmt.Println("no " + e.Kind.String())
		default:
			// A file that cannot be read or written is no answer about a document.
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
