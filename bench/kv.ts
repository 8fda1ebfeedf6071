// The key/value engine and wrapping through the API of a running server, with token, policy decision
// and two audit records each: as in the rows of the API, from a process beside it.

import { type Caller, call, requestBytes } from "./api/api-caller.ts";
import { loaded } from "./api/api-measure.ts";
import { VALUE_BYTES } from "./stores/filled-store.ts";
import type { Load } from "./load/load.ts";
import type { Row } from "./row.ts";

const MOUNT = "holdfast-bench-kv";
const EACH_CLIENT = 2; // secrets
const VALUES = ["a", "b"]; // in turn, so that every write changes its secret
const LISTED = 1000;
const PREPARED_AT_ONCE = 16;
const WRAPPED_FOR = "60s";

/** As large as the records of the other rows. */
function bodyOf(value: string): object {
  return { data: { user: "bench", password: value.repeat(VALUE_BYTES) } };
}

function pathOf(folder: string, n: number): string {
  return `${MOUNT}/data/${folder}/secret-${String(n).padStart(4, "0")}`;
}

async function made(caller: Caller, folder: string, count: number): Promise<string[]> {
  await call(caller, "POST", `sys/mounts/${MOUNT}`, { type: "kv", options: { version: "2" } });
  const paths = Array.from({ length: count }, (_, n) => pathOf(folder, n));
  const left = paths.values();
  const writer = async () => {
    for (const path of left) await call(caller, "POST", path, bodyOf("m"));
  };
  await Promise.all(Array.from({ length: PREPARED_AT_ONCE }, writer));
  return paths;
}

async function writes(caller: Caller, clients: number): Promise<Load> {
  const paths = await made(caller, "own", clients * EACH_CLIENT);
  return {
    clients: Array.from({ length: clients }, (_, i) => {
      const own = paths.slice(i * EACH_CLIENT, (i + 1) * EACH_CLIENT);
      return VALUES.flatMap((value) =>
        own.map((path) => requestBytes(caller, "POST", path, bodyOf(value))),
      );
    }),
    statuses: [200],
  };
}

/** Each client reads all of them, in the same order from different beginnings. */
async function reads(caller: Caller, clients: number): Promise<Load> {
  const paths = await made(caller, "read", clients * EACH_CLIENT);
  const requests = paths.map((path) => requestBytes(caller, "GET", path));
  return {
    clients: Array.from({ length: clients }, (_, i) => {
      const first = i * EACH_CLIENT;
      return [...requests.slice(first), ...requests.slice(0, first)];
    }),
    statuses: [200],
  };
}

async function lists(caller: Caller, clients: number): Promise<Load> {
  await made(caller, "listed", LISTED);
  const path = `${MOUNT}/metadata/listed?list=true`;
  const keys = JSON.stringify(await call(caller, "GET", path)).split('"secret-').length - 1;
  if (keys !== LISTED) throw new Error(`the list has ${keys} names, not ${LISTED}`);
  const request = requestBytes(caller, "GET", path);
  return { clients: Array.from({ length: clients }, () => [request]), statuses: [200] };
}

/** A read whose answer is wrapped, then the token exchanged for the answer. */
async function wraps(caller: Caller, clients: number): Promise<Load> {
  const paths = await made(caller, "wrapped", clients);
  const [tokenHeader = ""] = Object.keys(caller.headers);
  const wrapHeader = tokenHeader.replace("Token", "Wrap-TTL"); // under the same name as the token
  const headers = { ...caller.headers, [wrapHeader]: WRAPPED_FOR };
  return {
    clients: paths.map((path) => [requestBytes({ ...caller, headers }, "GET", path)]),
    statuses: [200],
    follow: (body) => {
      const holder = { ...caller, headers: { [tokenHeader]: wrappingToken(body) } };
      return requestBytes(holder, "POST", "sys/wrapping/unwrap", {});
    },
  };
}

function wrappingToken(body: string): string {
  const { wrap_info: info } = JSON.parse(body) as { wrap_info: { token: string } | null };
  if (info === null) throw new Error("an answer was not wrapped");
  return info.token;
}

function kvRow(
  row: Omit<Row, "run">,
  clients: number,
  prepare: (caller: Caller, clients: number) => Promise<Load>,
): Row {
  return { ...row, ...loaded({ clients, prepare, made: () => [`sys/mounts/${MOUNT}`] }) };
}

export const kvRows: readonly Row[] = [
  kvRow(
    {
      name: "kv/read",
      what: "authorised audited reads of a secret, 32 clients",
      unit: "/s",
      budget: { atLeast: 10_000 },
    },
    32,
    reads,
  ),
  kvRow(
    {
      name: "kv/write",
      what: "durable audited writes of a secret's next version, 128 clients",
      unit: "/s",
      budget: { atLeast: 3500 },
    },
    128, // with 64 the server waits for its commits a tenth of the time
    writes,
  ),
  kvRow({ name: "kv/list-1000", what: "lists of 1,000 names, 16 clients", unit: "/s" }, 16, lists),
  kvRow(
    {
      name: "kv/wrap-unwrap",
      what: "wrapped reads of a secret, each with its unwrap, 32 clients",
      unit: "/s",
    },
    32,
    wraps,
  ),
];
