// Plays cases with the stock Go client on one server and prints what the client was told, as JSON.
//
//	interop nats://host:port
//	interop views
//
// A case notes facts that must be the same on every server; it fails when the client's own promise is
// broken. Times, ids and ports are never noted. `views` takes part in another test (views.go).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	limit   = 20 * time.Second
	patient = 5 * time.Second
	brief   = 300 * time.Millisecond
)

// Case is one connection with a story on it.
type Case struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	ctx   context.Context
	facts []string
}

type outcome struct {
	Failed string   `json:"failed"`
	Facts  []string `json:"facts"`
}

type failure struct{ text string }

// Note puts a fact into the transcript.
func (c *Case) Note(format string, arguments ...any) {
	c.facts = append(c.facts, fmt.Sprintf(format, arguments...))
}

// Must ends the case when there is an error.
func (c *Case) Must(err error) {
	if err != nil {
		panic(failure{err.Error()})
	}
}

// Check ends the case when a promise is broken.
func (c *Case) Check(kept bool, format string, arguments ...any) {
	if !kept {
		panic(failure{fmt.Sprintf(format, arguments...)})
	}
}

// Refused notes an error that has to be there.
func (c *Case) Refused(what string, err error) {
	c.Check(err != nil, "%s was not refused", what)
	var api *jetstream.APIError
	if errors.As(err, &api) {
		c.Note("%s: %d %d %s", what, api.Code, api.ErrorCode, api.Description)
		return
	}
	c.Note("%s: %s", what, err)
}

// Stream makes a stream with count messages, on the subjects in turn.
func (c *Case) Stream(name string, count int, subjects ...string) jetstream.Stream {
	stream, err := c.js.CreateStream(c.ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
	c.Must(err)
	for i := range count {
		_, err := c.js.Publish(c.ctx, name+"."+subjects[i%len(subjects)], []byte(fmt.Sprint(i+1)))
		c.Must(err)
	}
	return stream
}

// Consumer makes a durable consumer c on a stream.
func (c *Case) Consumer(stream jetstream.Stream, config jetstream.ConsumerConfig) jetstream.Consumer {
	config.Durable = "c"
	consumer, err := stream.CreateConsumer(c.ctx, config)
	c.Must(err)
	return consumer
}

var cases = map[string]func(*Case){}

func play(url string, story func(*Case)) (told outcome) {
	nc, err := nats.Connect(url)
	if err != nil {
		return outcome{Failed: err.Error()}
	}
	defer nc.Close()
	js, _ := jetstream.New(nc)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := &Case{nc: nc, js: js, ctx: ctx, facts: []string{}}
	defer func() {
		told.Facts = c.facts
		if reason := recover(); reason != nil {
			broken, known := reason.(failure)
			if !known {
				panic(reason)
			}
			told.Failed = broken.text
		}
	}()
	story(c)
	return told
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: interop nats://host:port | views")
		os.Exit(2)
	}
	if os.Args[1] == "views" {
		views()
		return
	}
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	sort.Strings(names)
	transcript := map[string]outcome{}
	for _, name := range names {
		transcript[name] = play(os.Args[1], cases[name])
	}
	if err := json.NewEncoder(os.Stdout).Encode(transcript); err != nil {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}
