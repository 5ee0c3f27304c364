// Records with the first version of go-vcr.
package main

import (
	"bytes"
	"io/ioutil"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/dnaeon/go-vcr/recorder"
)

func record(name string, exchanges func(client *http.Client)) {
	tape, err := recorder.New(name)
	if err != nil {
		panic(err)
	}
	exchanges(&http.Client{Transport: tape})
	if err := tape.Stop(); err != nil {
		panic(err)
	}
}

func finish(response *http.Response, err error) {
	if err != nil {
		panic(err)
	}
	if _, err := ioutil.ReadAll(response.Body); err != nil {
		panic(err)
	}
	response.Body.Close()
}

func main() {
	base := os.Args[1]
	record("responses", func(client *http.Client) {
		paths := "/text /latin1 /json /lines /windows /image /octets /damaged /gzip /fields /moved /empty /nothing /missing /busy /chunks"
		for _, path := range strings.Fields(paths) {
			finish(client.Get(base + path))
		}
		finish(client.Head(base + "/text"))
	})
	record("uploads", func(client *http.Client) {
		finish(client.Post(base+"/echo", "application/json", strings.NewReader(`{"name": "Käse"}`)))
		finish(client.PostForm(base+"/echo", url.Values{"a": {"1 2"}, "b": {"ä&"}}))
		finish(client.Post(base+"/echo", "application/octet-stream", bytes.NewReader([]byte{0, 1, 255})))
		finish(client.Post(base+"/other", "text/plain", strings.NewReader("x")))
	})
}
