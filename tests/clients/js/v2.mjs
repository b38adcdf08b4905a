// The second generation: one package for everything.
import nats from "nats";

export * from "./common.mjs";
export const { connect, headers, createInbox } = nats;
export const services = (connection) => connection.services;
