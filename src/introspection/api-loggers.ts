// How much the logs of this node write, changed while it runs.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Introspection } from "./introspection.ts";

const endpoint = endpointsOf<Introspection>();

const LEVELS = ["debug", "info", "warn", "error", "off"] as const;
const level = wire.param("level").oneOf(LEVELS, "The least level that is written");
const logger = wire.path("name").string("Component, such as storage");
const levels = out.mapOf(out.oneOf(LEVELS, "Level"), "Level of each log by its component");

export const loggersApi = [
  endpoint({
    name: "readLoggers",
    method: "GET",
    path: "/sys/loggers",
    summary: "Read how much each log of this node writes",
    access: access.capability,
    rootOnly: true,
    runs: "here",
    input: {},
    output: levels,
    handler: (room) => room.levels(null),
  }),

  endpoint({
    name: "writeLoggers",
    method: "POST",
    path: "/sys/loggers",
    summary: "Change how much all logs of this node write, until it is restarted",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: { level },
    output: out.nothing,
    handler(room, input) {
      room.setLevel(null, input.level);
      return undefined;
    },
  }),

  endpoint({
    name: "resetLoggers",
    method: "DELETE",
    path: "/sys/loggers",
    summary: "Let all logs of this node write what the configuration says",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: {},
    output: out.nothing,
    handler(room) {
      room.resetLevel(null);
      return undefined;
    },
  }),

  endpoint({
    name: "readLogger",
    method: "GET",
    path: "/sys/loggers/:name",
    summary: "Read how much one log of this node writes",
    access: access.capability,
    rootOnly: true,
    runs: "here",
    input: { name: logger },
    output: levels,
    handler: (room, { name }) => room.levels(name),
  }),

  endpoint({
    name: "writeLogger",
    method: "POST",
    path: "/sys/loggers/:name",
    summary: "Change how much one log of this node writes, until it is restarted",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: { name: logger, level },
    output: out.nothing,
    handler(room, input) {
      room.setLevel(input.name, input.level);
      return undefined;
    },
  }),

  endpoint({
    name: "resetLogger",
    method: "DELETE",
    path: "/sys/loggers/:name",
    summary: "Let one log of this node write what the configuration says",
    access: access.capability,
    belongs: "local",
    rootOnly: true,
    runs: "here",
    input: { name: logger },
    output: out.nothing,
    handler(room, { name }) {
      room.resetLevel(name);
      return undefined;
    },
  }),
];
