// A small house for tests of the pipeline: things that are read, listed and written, a login, a ceremony, and what
// everybody may ask.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf, serve } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { wire } from "@holdfast/shared/endpoint/wire";
import { SmallHouse } from "../small-house.ts";

interface Room {
  present: boolean;
  fault: (() => unknown) | null;
  /** What handlers wait for that wait. */
  turn: Promise<void>;
}

const endpoint = endpointsOf<Room>();
const any = out.anyObject("anything");

const declared = [
  endpoint({
    name: "health",
    method: "GET",
    path: "/sys/health",
    summary: "open in every state",
    access: access.open,
    rootOnly: true,
    answers: "always",
    family: "bare",
    audited: false,
    forMonitoring: true,
    head: true,
    input: {},
    output: any,
    handler: () => ({ fine: true }),
  }),
  endpoint({
    name: "readThing",
    method: "GET",
    path: "/sys/things/:name",
    summary: "needs read",
    access: access.capability,
    input: { name: wire.path("name").string("name") },
    output: any,
    handler: (room, { name }) => (room.fault === null ? { name } : (room.fault() as object) && {}),
  }),
  endpoint({
    name: "listThings",
    method: "LIST",
    path: "/sys/things",
    summary: "needs list",
    access: access.capability,
    input: {},
    output: out.keys("things"),
    handler: () => ({ keys: ["a"] }),
  }),
  endpoint({
    name: "writeThing",
    method: "POST",
    path: "/sys/things/:name",
    summary: "needs create or update",
    access: access.capability,
    belongs: "local",
    input: {
      name: wire.path("name").string("name"),
      size: wire.body("size").integer("size"),
    },
    output: any,
    exists: (room) => room.present,
    handler: (_, { size }) => reply({ size }, { warnings: ["from the handler"] }),
  }),
  endpoint({
    name: "rotate",
    method: "POST",
    path: "/sys/rotate",
    summary: "needs sudo",
    access: access.sudo,
    belongs: "local",
    rootOnly: true,
    input: {},
    output: out.nothing,
    handler: () => undefined,
  }),
  endpoint({
    name: "start",
    method: "POST",
    path: "/sys/ceremony",
    summary: "a ceremony",
    access: access.ceremony,
    belongs: "local",
    rootOnly: true,
    input: {},
    output: any,
    handler: async (_, __, context) => ({
      caller: context.caller?.name ?? null,
      can: await context.isPrivileged(),
    }),
  }),
  endpoint({
    name: "login",
    method: "POST",
    path: "/sys/login",
    summary: "a way to a token",
    access: access.open,
    belongs: "local",
    login: true,
    input: {},
    output: any,
    handler: async ({ turn }, _, context) => {
      await context.waitFor(turn);
      return { in: true };
    },
  }),
  endpoint({
    name: "look",
    method: "GET",
    path: "/sys/look",
    summary: "shows more to whoever has a token",
    access: access.openWithCaller,
    input: {},
    output: any,
    handler: async ({ turn }, _, context) => {
      await context.waitFor(turn);
      return { caller: context.caller?.name ?? null };
    },
  }),
  endpoint({
    name: "keep",
    method: "POST",
    path: "/sys/keep",
    summary: "may be given a secret",
    access: access.capability,
    belongs: "local",
    input: {
      note: wire.body("note").string("note").optional(),
      secret: wire.body("secret").secret("secret").optional(),
    },
    output: any,
    handler: () => ({}),
  }),
  endpoint({
    name: "metrics",
    method: "GET",
    path: "/sys/metrics",
    summary: "open where the listener says so",
    access: access.capabilityUnlessOpen("metrics"),
    forMonitoring: true,
    input: {},
    output: any,
    handler: () => ({ ok: true }),
  }),
];

/** With endpoints of every kind of access, and callers of every kind. */
export function madeHouse() {
  const room: Room = { present: false, fault: null, turn: Promise.resolve() };
  const made = new SmallHouse(serve(room, declared));
  made.namespaces.set("team", { id: "n1", path: "team", created: 3n });
  made.namespaces.set("team/deep", { id: "n2", path: "team/deep", created: 4n });
  made.namespaces.set("other", { id: "n3", path: "other", created: 5n });
  made.add("root", "management");
  made.add("client", "client");
  made.add("team-admin", "management", "team");
  made.add("team-client", "client", "team");
  return Object.assign(made, { room });
}
