package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func init() {
	cases["kv operations"] = kvOperations
	cases["kv history and purge"] = kvHistory
	cases["kv watch"] = kvWatch
	cases["kv time to live"] = kvTTL
	cases["kv buckets"] = kvBuckets
}

func entryText(e jetstream.KeyValueEntry) string {
	if e == nil {
		return "-"
	}
	return fmt.Sprintf("%s %s=%q %d", e.Operation(), e.Key(), e.Value(), e.Revision())
}

func (c *Case) bucket(config jetstream.KeyValueConfig) jetstream.KeyValue {
	kv, err := c.js.CreateKeyValue(c.ctx, config)
	c.Must(err)
	return kv
}

func (c *Case) put(kv jetstream.KeyValue, key, value string) {
	_, err := kv.PutString(c.ctx, key, value)
	c.Must(err)
}

func kvOperations(c *Case) {
	kv := c.bucket(jetstream.KeyValueConfig{Bucket: "gokv", History: 5})
	c.put(kv, "a", "1")
	c.put(kv, "a", "2")
	entry, err := kv.Get(c.ctx, "a")
	c.Must(err)
	c.Note("%s", entryText(entry))
	entry, err = kv.GetRevision(c.ctx, "a", 1)
	c.Must(err)
	c.Note("%s", entryText(entry))
	_, err = kv.Get(c.ctx, "nothing")
	c.Check(errors.Is(err, jetstream.ErrKeyNotFound), "%v", err)
	revision, err := kv.Create(c.ctx, "new", []byte("n"))
	c.Must(err)
	c.Note("created %d", revision)
	_, err = kv.Create(c.ctx, "new", nil)
	c.Check(errors.Is(err, jetstream.ErrKeyExists), "%v", err)
	c.Refused("create twice", err)
	revision, err = kv.Update(c.ctx, "a", []byte("3"), 2)
	c.Must(err)
	c.Note("updated %d", revision)
	_, err = kv.Update(c.ctx, "a", []byte("4"), 2)
	c.Refused("stale update", err)
	c.Refused("stale delete", kv.Delete(c.ctx, "a", jetstream.LastRevision(1)))
	c.Must(kv.Delete(c.ctx, "a"))
	_, err = kv.Get(c.ctx, "a")
	c.Check(errors.Is(err, jetstream.ErrKeyNotFound), "%v", err)
	revision, err = kv.Create(c.ctx, "a", []byte("back"))
	c.Must(err)
	c.Note("created again %d", revision)
	c.Must(kv.Purge(c.ctx, "a"))
}

func kvHistory(c *Case) {
	kv := c.bucket(jetstream.KeyValueConfig{Bucket: "gohist", History: 3})
	_, err := kv.Keys(c.ctx)
	c.Refused("no keys", err)
	for i := range 5 {
		c.put(kv, "a", fmt.Sprint(i))
	}
	c.put(kv, "b.c", "x")
	c.put(kv, "gone", "x")
	c.Must(kv.Delete(c.ctx, "gone"))
	history, err := kv.History(c.ctx, "a")
	c.Must(err)
	for _, entry := range history {
		c.Note("%s delta %d", entryText(entry), entry.Delta())
	}
	keys, err := kv.Keys(c.ctx)
	c.Must(err)
	slices.Sort(keys)
	c.Note("%v", keys)
	filtered, err := kv.ListKeysFiltered(c.ctx, "b.*")
	c.Must(err)
	for key := range filtered.Keys() {
		c.Note("filtered %s", key)
	}
	c.Must(kv.Purge(c.ctx, "a"))
	history, err = kv.History(c.ctx, "a")
	c.Must(err)
	c.Check(len(history) == 1 && history[0].Operation() == jetstream.KeyValuePurge, "%d entries", len(history))
	c.Must(kv.PurgeDeletes(c.ctx, jetstream.DeleteMarkersOlderThan(-1)))
	status, err := kv.Status(c.ctx)
	c.Must(err)
	c.Note("%d values, history %d, %s, %d bytes", status.Values(), status.History(), status.BackingStore(), status.Bytes())
}

func (c *Case) updates(watcher jetstream.KeyWatcher, count int) []string {
	seen := []string{}
	for range count {
		select {
		case entry := <-watcher.Updates():
			seen = append(seen, entryText(entry))
		case <-time.After(patient):
			c.Check(false, "only %v", seen)
		}
	}
	return seen
}

func kvWatch(c *Case) {
	kv := c.bucket(jetstream.KeyValueConfig{Bucket: "gowatch", History: 5})
	for _, pair := range [][2]string{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"c.d", "1"}} {
		c.put(kv, pair[0], pair[1])
	}
	c.Must(kv.Delete(c.ctx, "b"))
	watch := func(watcher jetstream.KeyWatcher, err error) jetstream.KeyWatcher {
		c.Must(err)
		return watcher
	}
	watchers := []jetstream.KeyWatcher{
		watch(kv.WatchAll(c.ctx)),
		watch(kv.WatchAll(c.ctx, jetstream.IncludeHistory())),
		watch(kv.WatchAll(c.ctx, jetstream.UpdatesOnly())),
		watch(kv.WatchAll(c.ctx, jetstream.IgnoreDeletes())),
		watch(kv.WatchFiltered(c.ctx, []string{"a", "c.>"})),
		watch(kv.Watch(c.ctx, "a", jetstream.MetaOnly())),
		watch(kv.WatchAll(c.ctx, jetstream.ResumeFromRevision(4))),
	}
	c.put(kv, "a", "3")
	c.Must(kv.Purge(c.ctx, "b"))
	for i, count := range []int{6, 8, 2, 4, 4, 3, 5} {
		c.Note("%d %v", i, c.updates(watchers[i], count))
		c.Must(watchers[i].Stop())
	}
}

func kvTTL(c *Case) {
	kv := c.bucket(jetstream.KeyValueConfig{Bucket: "gottl", LimitMarkerTTL: 2 * time.Second})
	watcher, err := kv.WatchAll(c.ctx)
	c.Must(err)
	_, err = kv.Create(c.ctx, "brief", []byte("x"), jetstream.KeyTTL(time.Second))
	c.Must(err)
	c.Note("%v", c.updates(watcher, 3))
	_, err = kv.Create(c.ctx, "brief", []byte("y"))
	c.Must(err)
	c.Must(kv.Purge(c.ctx, "brief", jetstream.PurgeTTL(time.Minute)))
	c.Note("%v", c.updates(watcher, 2))
}

func kvBuckets(c *Case) {
	config := jetstream.KeyValueConfig{
		Bucket: "gobucket", Description: "values", MaxValueSize: 100, MaxBytes: 10_000, TTL: time.Minute,
		Storage: jetstream.MemoryStorage, Metadata: map[string]string{"owner": "tests"},
	}
	kv := c.bucket(config)
	_, err := kv.Put(c.ctx, "k", make([]byte, 200))
	c.Refused("too big", err)
	config.Description = "changed"
	_, err = c.js.UpdateKeyValue(c.ctx, config)
	c.Must(err)
	_, err = c.js.CreateKeyValue(c.ctx, jetstream.KeyValueConfig{Bucket: "gobucket"})
	c.Refused("another config", err)
	names := []string{}
	for name := range c.js.KeyValueStoreNames(c.ctx).Name() {
		names = append(names, name)
	}
	c.Check(slices.Contains(names, "gobucket"), "%v", names)
	statuses := 0
	for range c.js.KeyValueStores(c.ctx).Status() {
		statuses++
	}
	c.Check(statuses == len(names), "%d statuses for %d names", statuses, len(names))
	c.Must(c.js.DeleteKeyValue(c.ctx, "gobucket"))
	_, err = c.js.KeyValue(c.ctx, "gobucket")
	c.Refused("deleted", err)
}
