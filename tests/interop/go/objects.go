package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func init() {
	cases["objects"] = objects
	cases["object links and watch"] = objectLinks
	cases["object seal"] = objectSeal
}

func objectText(info *jetstream.ObjectInfo) string {
	if info == nil {
		return "-"
	}
	return fmt.Sprintf("%s %q %v %v in %s: %d bytes, %d chunks, %s, deleted %t, id %t", info.Name, info.Description, info.Headers,
		info.Metadata, info.Bucket, info.Size, info.Chunks, info.Digest, info.Deleted, info.NUID != "")
}

func big() []byte {
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(i * 7919 % 251)
	}
	return data
}

func objects(c *Case) {
	store, err := c.js.CreateObjectStore(c.ctx, jetstream.ObjectStoreConfig{Bucket: "goobj", Description: "things"})
	c.Must(err)
	meta := jetstream.ObjectMeta{
		Name: "big one", Description: "bytes", Headers: nats.Header{"Kind": {"test"}}, Metadata: map[string]string{"a": "b"},
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: 65_536},
	}
	info, err := store.Put(c.ctx, meta, bytes.NewReader(big()))
	c.Must(err)
	c.Note("%s", objectText(info))
	result, err := store.Get(c.ctx, "big one")
	c.Must(err)
	data, err := io.ReadAll(result)
	c.Must(err)
	c.Check(bytes.Equal(data, big()), "other bytes")
	_, err = store.PutString(c.ctx, "small", "first")
	c.Must(err)
	_, err = store.PutString(c.ctx, "small", "second")
	c.Must(err)
	text, err := store.GetString(c.ctx, "small")
	c.Must(err)
	c.Note("%q", text)
	_, err = store.PutBytes(c.ctx, "empty", nil)
	c.Must(err)
	empty, err := store.GetBytes(c.ctx, "empty")
	c.Must(err)
	c.Note("%d bytes", len(empty))
	c.Must(store.UpdateMeta(c.ctx, "small", jetstream.ObjectMeta{Name: "renamed", Description: "new"}))
	_, err = store.GetInfo(c.ctx, "small")
	c.Refused("renamed", err)
	c.Must(store.Delete(c.ctx, "renamed"))
	_, err = store.GetBytes(c.ctx, "renamed")
	c.Refused("deleted", err)
	info, err = store.GetInfo(c.ctx, "renamed", jetstream.GetObjectInfoShowDeleted())
	c.Must(err)
	c.Note("%s", objectText(info))
	listed, err := store.List(c.ctx)
	c.Must(err)
	for _, each := range listed {
		c.Note("listed %s", objectText(each))
	}
	status, err := store.Status(c.ctx)
	c.Must(err)
	c.Note("%s %q %s %d %t", status.Bucket(), status.Description(), status.Storage(), status.Replicas(), status.Sealed())
}

func objectLinks(c *Case) {
	store, err := c.js.CreateObjectStore(c.ctx, jetstream.ObjectStoreConfig{Bucket: "golinks", Storage: jetstream.MemoryStorage})
	c.Must(err)
	other, err := c.js.CreateObjectStore(c.ctx, jetstream.ObjectStoreConfig{Bucket: "goothers"})
	c.Must(err)
	watcher, err := store.Watch(c.ctx)
	c.Must(err)
	target, err := other.PutString(c.ctx, "target", "at the end")
	c.Must(err)
	_, err = store.AddLink(c.ctx, "link", target)
	c.Must(err)
	text, err := store.GetString(c.ctx, "link")
	c.Must(err)
	c.Note("%q", text)
	_, err = store.AddBucketLink(c.ctx, "whole", other)
	c.Must(err)
	_, err = store.Get(c.ctx, "whole")
	c.Refused("bucket link", err)
	c.Must(store.Delete(c.ctx, "link"))
	for range 4 {
		select {
		case info := <-watcher.Updates():
			c.Note("watched %s", objectText(info))
		case <-time.After(patient):
			c.Check(false, "no update")
		}
	}
	names := []string{}
	for name := range c.js.ObjectStoreNames(c.ctx).Name() {
		names = append(names, name)
	}
	c.Check(slices.Contains(names, "golinks") && slices.Contains(names, "goothers"), "%v", names)
	c.Must(c.js.DeleteObjectStore(c.ctx, "goothers"))
	_, err = c.js.ObjectStore(c.ctx, "goothers")
	c.Refused("deleted", err)
}

func objectSeal(c *Case) {
	store, err := c.js.CreateObjectStore(c.ctx, jetstream.ObjectStoreConfig{Bucket: "goseal"})
	c.Must(err)
	_, err = store.PutString(c.ctx, "kept", "kept")
	c.Must(err)
	c.Must(store.Seal(c.ctx))
	_, err = store.PutString(c.ctx, "late", "late")
	c.Refused("put", err)
	c.Refused("delete", store.Delete(c.ctx, "kept"))
	text, err := store.GetString(c.ctx, "kept")
	c.Must(err)
	status, err := store.Status(c.ctx)
	c.Must(err)
	c.Note("%q %t", text, status.Sealed())
}
