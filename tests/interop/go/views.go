package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A member of the matrix of views (see tests/views/members.py): a call a line, an answer a line.
type member struct {
	js     jetstream.JetStream
	ctx    context.Context
	script struct {
		History uint8
		Marker  int
		Steps   [][]any
		Seen    struct {
			Values, Deleted, History map[string]any
		}
		Objects [][]any
		Headers map[string][]string
	}
}

type request struct {
	Call string
	Args []json.RawMessage
}

// Text on the way has a character for each byte.
func latin1(text string) []byte {
	data := make([]byte, 0, len(text))
	for _, char := range text {
		data = append(data, byte(char))
	}
	return data
}

func text(data []byte) string {
	chars := make([]rune, len(data))
	for i, char := range data {
		chars[i] = rune(char)
	}
	return string(chars)
}

func content(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i % 251 * 7919 % 251)
	}
	return data
}

func operation(e jetstream.KeyValueEntry) string {
	return map[jetstream.KeyValueOp]string{
		jetstream.KeyValuePut: "PUT", jetstream.KeyValueDelete: "DEL", jetstream.KeyValuePurge: "PURGE",
	}[e.Operation()]
}

func (m *member) marker() time.Duration { return time.Duration(m.script.Marker) * time.Second }

func (m *member) write(name string) (any, error) {
	config := jetstream.KeyValueConfig{Bucket: name, History: m.script.History, LimitMarkerTTL: m.marker()}
	kv, err := m.js.CreateKeyValue(m.ctx, config)
	if err != nil {
		return nil, err
	}
	for _, step := range m.script.Steps {
		if err := m.step(kv, step); err != nil {
			return nil, fmt.Errorf("%v: %w", step, err)
		}
	}
	return nil, nil
}

func (m *member) step(kv jetstream.KeyValue, step []any) error {
	key, value, more := step[1].(string), []byte{}, 0
	if len(step) > 2 {
		value = latin1(step[2].(string))
	}
	if len(step) > 3 {
		more = int(step[3].(float64))
	}
	var err error
	switch step[0] {
	case "put":
		_, err = kv.Put(m.ctx, key, value)
	case "update":
		_, err = kv.Update(m.ctx, key, value, uint64(more))
	case "create":
		options := []jetstream.KVCreateOpt{}
		if more > 0 {
			options = append(options, jetstream.KeyTTL(time.Duration(more)*time.Second))
		}
		_, err = kv.Create(m.ctx, key, value, options...)
	case "delete":
		err = kv.Delete(m.ctx, key)
	case "purge":
		err = kv.Purge(m.ctx, key)
	}
	return err
}

func (m *member) read(name string) (any, error) {
	kv, err := m.js.KeyValue(m.ctx, name)
	if err != nil {
		return nil, err
	}
	keys, err := kv.Keys(m.ctx)
	if err != nil {
		return nil, err
	}
	sort.Strings(keys)
	values, deleted, history := map[string]any{}, map[string]any{}, map[string]any{}
	for key := range m.script.Seen.Values {
		entry, err := kv.Get(m.ctx, key)
		if err != nil {
			return nil, err
		}
		values[key] = []any{entry.Revision(), text(entry.Value())}
	}
	for key := range m.script.Seen.History {
		entries, err := kv.History(m.ctx, key)
		if err != nil {
			return nil, err
		}
		rows := []any{}
		for _, e := range entries {
			rows = append(rows, []any{e.Revision(), operation(e), text(e.Value())})
		}
		history[key] = rows
	}
	for key := range m.script.Seen.Deleted {
		if _, err := kv.Get(m.ctx, key); !errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil, fmt.Errorf("%s: %v", key, err)
		}
	}
	watcher, err := kv.WatchAll(m.ctx)
	if err != nil {
		return nil, err
	}
	defer watcher.Stop()
	watched := []any{}
	for e := range watcher.Updates() {
		if e == nil {
			break
		}
		watched = append(watched, []any{e.Key(), e.Revision(), operation(e)})
		if _, asked := m.script.Seen.Deleted[e.Key()]; asked {
			deleted[e.Key()] = operation(e)
		}
	}
	status, err := kv.Status(m.ctx)
	if err != nil {
		return nil, err
	}
	told := []any{status.Values(), status.History(), math.Round(status.LimitMarkerTTL().Seconds())}
	return map[string]any{
		"keys": keys, "values": values, "deleted": deleted, "history": history, "watch": watched, "status": told,
	}, nil
}

func (m *member) put(name string) (any, error) {
	store, err := m.js.CreateObjectStore(m.ctx, jetstream.ObjectStoreConfig{Bucket: name})
	if err != nil {
		return nil, err
	}
	for _, row := range m.script.Objects {
		meta := jetstream.ObjectMeta{Name: row[0].(string), Description: row[2].(string), Headers: m.script.Headers}
		if _, err := store.Put(m.ctx, meta, strings.NewReader(string(content(int(row[1].(float64)))))); err != nil {
			return nil, err
		}
	}
	return nil, store.Delete(m.ctx, "removed")
}

func (m *member) list(name string) (any, error) {
	store, err := m.js.ObjectStore(m.ctx, name)
	if err != nil {
		return nil, err
	}
	objects, err := store.List(m.ctx)
	if err != nil {
		return nil, err
	}
	rows, headers := [][]any{}, any(nil)
	for _, o := range objects {
		digest := strings.TrimRight(o.Digest, "=")
		rows = append(rows, []any{o.Name, o.Size, o.Chunks, digest, o.Description})
		if o.Name == "one" {
			headers = o.Headers
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i][0].(string) < rows[j][0].(string) })
	return []any{rows, headers}, nil
}

func (m *member) link(name string) (any, error) {
	store, err := m.js.CreateObjectStore(m.ctx, jetstream.ObjectStoreConfig{Bucket: name})
	if err != nil {
		return nil, err
	}
	one, err := store.PutBytes(m.ctx, "one", content(1))
	if err != nil {
		return nil, err
	}
	_, err = store.AddLink(m.ctx, "link", one)
	return nil, err
}

func (m *member) get(name, object string) (any, error) {
	store, err := m.js.ObjectStore(m.ctx, name)
	if err != nil {
		return nil, err
	}
	data, err := store.GetBytes(m.ctx, object)
	return base64.StdEncoding.EncodeToString(data), err
}

func (m *member) begin(asked request) (any, error) {
	var url string
	if err := json.Unmarshal(asked.Args[0], &url); err != nil {
		return nil, err
	}
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	m.js, _ = jetstream.New(nc)
	return nil, json.Unmarshal(asked.Args[1], &m.script)
}

func (m *member) answer(asked request) (any, error) {
	if asked.Call == "begin" {
		return m.begin(asked)
	}
	names := make([]string, len(asked.Args))
	for i, raw := range asked.Args {
		if err := json.Unmarshal(raw, &names[i]); err != nil {
			return nil, err
		}
	}
	calls := map[string]func(string) (any, error){
		"write": m.write, "read": m.read, "put": m.put, "list": m.list, "link": m.link,
	}
	if asked.Call == "get" {
		return m.get(names[0], names[1])
	}
	call, known := calls[asked.Call]
	if !known {
		return nil, fmt.Errorf("there is no call %q", asked.Call)
	}
	return call(names[0])
}

func views() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := &member{ctx: ctx}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked request
		err := json.Unmarshal(lines.Bytes(), &asked)
		var result any
		if err == nil {
			result, err = m.answer(asked)
		}
		told := map[string]any{"result": result}
		if err != nil {
			told = map[string]any{"error": asked.Call + ": " + err.Error()}
		}
		if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
			return
		}
	}
}
