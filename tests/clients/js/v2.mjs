// The second generation: one package for everything.
import nats from "nats";

export * from "./common.mjs";
export const { connect, headers, createInbox, consumerOpts, nanos } = nats;
export const services = (connection) => connection.services;
export const jetstream = (connection) => connection.jetstream();
export const jetstreamManager = (connection) => connection.jetstreamManager();

// Buckets and object stores under one face for both generations.
export const buckets = (connection) => ({
  create: (name, options) => connection.jetstream().views.kv(name, options),
  open: (name) => connection.jetstream().views.kv(name, { bindOnly: true }),
  list: async () => (await connection.jetstreamManager()).streams.listKvs(),
});
export const stores = (connection) => ({
  create: (name, options) => connection.jetstream().views.os(name, options),
  list: async () => (await connection.jetstreamManager()).streams.listObjectStores(),
});
