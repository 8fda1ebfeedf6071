// Two clusters as processes on files, and one of them is killed at each commit of each change of a role: afterwards it is one
// of the two things that it could be, what was begun is finished or undone by itself, and nothing is lost that was acknowledged.

import { join } from "node:path";
import { at } from "../../tests/support/http-client.ts";
import { errorText } from "../../tests/support/error-text.ts";
import { discard, scratch } from "../child.ts";
import { type Result, resultOf } from "../result.ts";
import { equal, NodeProcess, textIn, waitFor } from "./node-process.ts";

const MAX_COMMITS = 60; // of one change: more than any has
const WRONG_ENOUGH = 5;

export interface ReplicationKillsOptions {
  /** Every n-th commit only. */
  readonly stride: number;
  readonly only?: string | undefined;
  readonly say: (line: string) => void;
}

interface Pair {
  readonly a: NodeProcess;
  readonly b: NodeProcess;
}

interface Walk {
  readonly victim: keyof Pair;
  /** From a primary and a cluster that has a token of it, or from a primary and its secondary. */
  readonly from: "acquainted" | "replicated";
  /** Once; both run. */
  readonly prepare?: (pair: Pair) => Promise<void>;
  /** Before the kill is armed, each time. */
  readonly ready?: (pair: Pair) => Promise<void>;
  readonly act: (pair: Pair) => Promise<unknown>;
  /** `isDone`: it was acknowledged. Throws where something is not as it must be; gives what it has become. */
  readonly holds: (pair: Pair, isDone: boolean) => Promise<string>;
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

async function wrote(node: NodeProcess, path: string): Promise<void> {
  must((await node.put(path)) === 200, `${path} is not written`);
}

async function leadsWith(node: NodeProcess, paths: readonly string[]): Promise<void> {
  for (const path of paths) must(await node.has(path), `${path} is lost`);
  await wrote(node, "afterwards");
}

async function modeOf(node: NodeProcess): Promise<string> {
  return textIn(await node.status(), "mode");
}

let joining = ""; // the token of the cluster that joins
let following = ""; // and of the one that comes back
let operator = "";

const WALKS: Readonly<Record<string, Walk>> = {
  "a cluster joins": {
    victim: "b",
    from: "acquainted",
    act: ({ b }) => b.dr("secondary/enable", { token: joining }),
    holds: async ({ a, b }, isDone) => {
      if (!(await b.unseal())) {
        b.keys = a.keys;
        must(await b.unseal(), "neither shares open it");
      }
      const mode = await modeOf(b);
      must(!isDone || mode === "secondary", `it is ${mode}`);
      if (mode === "secondary") await equal(a, b);
      else await b.must("GET", "/v1/sys/mounts", { token: b.keys.token });
      return mode;
    },
  },
  "a cluster joins, at the primary": {
    victim: "a",
    from: "acquainted",
    act: ({ b }) => b.dr("secondary/enable", { token: joining }),
    holds: async ({ a, b }) => {
      const mode = await modeOf(b);
      must((await modeOf(a)) === "primary", "the primary is none");
      await leadsWith(a, ["before"]);
      if (mode === "disabled") await b.dr("secondary/enable", { token: joining });
      await equal(a, b);
      return mode;
    },
  },
  demotion: {
    victim: "a",
    from: "replicated",
    ready: ({ a }) => wrote(a, "late"),
    act: ({ a }) => a.dr("primary/demote"),
    holds: async ({ a, b }, isDone) => {
      const mode = await modeOf(a);
      must(!isDone || mode === "secondary", `it is ${mode}`);
      if (mode === "secondary") {
        must((await a.put("refused")) === 503, "a secondary writes");
        await a.operate("promote", { force: true });
      } else await equal(a, b);
      await leadsWith(a, ["before", "late"]);
      return mode;
    },
  },
  promotion: {
    victim: "b",
    from: "replicated",
    prepare: async ({ a }) => {
      await wrote(a, "late");
      await a.dr("primary/demote");
    },
    ready: async ({ b }) => void (operator = await b.operationToken()),
    act: ({ b }) =>
      b.must("POST", "/v1/sys/replication/dr/secondary/promote", {
        body: { dr_operation_token: operator },
      }),
    holds: async ({ b }, isDone) => {
      const mode = await modeOf(b);
      must(!isDone || mode === "primary", `it is ${mode}`);
      if (mode === "secondary") {
        must((await b.put("refused")) === 503, "a secondary writes");
        await b.operate("promote", { force: true });
      }
      must((await b.status())["epoch"] === 2, "it is another epoch");
      await leadsWith(b, ["before", "late"]);
      return mode;
    },
  },
  leaving: {
    victim: "b",
    from: "replicated",
    ready: async ({ b }) => void (operator = await b.operationToken()),
    act: ({ b }) =>
      b.must("POST", "/v1/sys/replication/dr/secondary/disable", {
        body: { dr_operation_token: operator },
      }),
    holds: async ({ a, b }, isDone) => {
      const mode = await modeOf(b);
      must(!isDone || mode === "disabled", `it is ${mode}`);
      if (mode === "disabled") await leadsWith(b, ["before"]);
      else {
        await wrote(a, "later");
        await equal(a, b);
      }
      return mode;
    },
  },
  fence: {
    victim: "a",
    from: "replicated",
    act: async ({ a, b }) => {
      await b.operate("promote", { force: true });
      await waitFor(
        "it is fenced, or gone",
        async () => !a.isRunning || (await isFenced(a).catch(() => false)),
      );
      must(a.isRunning, "it is gone");
    },
    holds: async ({ a, b }) => {
      await waitFor("it is fenced", () => isFenced(a));
      must((await a.put("refused")) === 503, "a fenced primary writes");
      await leadsWith(b, ["before"]);
      return "fenced";
    },
  },
  "coming back": {
    victim: "a",
    from: "replicated",
    prepare: async ({ a, b }) => {
      await b.kill();
      for (let i = 0; i < 5; i++) await wrote(a, `alone-${i}`);
      await a.kill();
      must(await b.begin(), "it does not unseal");
      await b.operate("promote", { force: true });
      await wrote(b, "later");
      must(await a.begin(), "it does not unseal");
      await waitFor("it is fenced", () => isFenced(a));
      await a.dr("primary/demote");
      const key = await a.operate("generate-public-key");
      const body = { secondary_public_key: at(key, "data", "secondary_public_key"), id: "site-a" };
      following = String(at(await b.dr("primary/secondary-token", body), "data", "token"));
    },
    ready: async ({ a }) => void (operator = await a.operationToken()),
    act: async ({ a, b }) => {
      await follow(a);
      await waitFor("it has come back, or is gone", async () => !a.isRunning || (await isBack(a)));
      await equal(b, a);
    },
    holds: async ({ a, b }) => {
      const isAlone = (await a.status())["secondary_id"] === "";
      if (isAlone) {
        operator = await a.operationToken();
        await follow(a);
      }
      await equal(b, a);
      const { divergent_entries: lost } = await a.status();
      must(Number(lost) >= 5, `${Number(lost)} entries are kept`);
      return isAlone ? "alone" : "follows";
    },
  },
};

async function isFenced(node: NodeProcess): Promise<boolean> {
  return (await node.status())["state"] === "fenced";
}

async function isBack(node: NodeProcess): Promise<boolean> {
  try {
    return (await node.status())["state"] === "stream-wals";
  } catch {
    return false; // it may be gone in the middle of an answer
  }
}

function follow(node: NodeProcess) {
  return node.must("POST", "/v1/sys/replication/dr/secondary/update-primary", {
    body: { token: following, dr_operation_token: operator },
  });
}

async function acquainted(place: string): Promise<Pair> {
  const [a, b] = await Promise.all([
    NodeProcess.first(join(place, "a")),
    NodeProcess.first(join(place, "b")),
  ]);
  const body = { type: "kv", options: { version: "2" } };
  await a.must("POST", "/v1/sys/mounts/secret", { token: a.keys.token, body });
  await a.dr("primary/enable");
  await wrote(a, "before");
  const key = await b.dr("secondary/generate-public-key");
  const sealed = { id: "site-b", secondary_public_key: at(key, "data", "secondary_public_key") };
  joining = String(at(await a.dr("primary/secondary-token", sealed), "data", "token"));
  return { a, b };
}

async function started(walk: Walk, place: string): Promise<Pair> {
  const pair = await acquainted(place);
  if (walk.from === "acquainted") return pair;
  const { a, b } = pair;
  await b.dr("secondary/enable", { token: joining });
  b.keys = a.keys;
  await equal(a, b);
  await walk.prepare?.(pair);
  return pair;
}

export async function replicationKills(options: ReplicationKillsOptions): Promise<Result> {
  const { stride, only, say } = options;
  const wrong: string[] = [];
  let kills = 0;
  for (const [name, walk] of Object.entries(WALKS)) {
    if (only !== undefined && !name.includes(only)) continue;
    const place = scratch("replication-kills", true);
    let pair: Pair | null = null;
    try {
      pair = await started(walk, place);
      const { a, b } = pair;
      for (const one of [a, b]) await one.kill();
      const back = [a.saved(), b.saved()];
      const ends = new Map<string, number>();
      let isWhole = false;
      for (let commits = 0; !isWhole && commits < MAX_COMMITS; commits += stride) {
        if (wrong.length >= WRONG_ENOUGH) break;
        try {
          for (const one of back) await one();
          for (const one of [a, b]) must(await one.begin(), "it does not unseal");
          await walk.ready?.(pair);
          const victim = pair[walk.victim];
          await victim.arm(commits);
          const isDone = await walk.act(pair).then(
            () => true,
            () => false,
          );
          isWhole = isDone && victim.isRunning;
          if (!isWhole) kills++;
          await victim.kill();
          await victim.begin();
          const end = await walk.holds(pair, isDone);
          ends.set(end, (ends.get(end) ?? 0) + 1);
        } catch (error) {
          wrong.push(`${name}, killed at commit ${commits}: ${errorText(error)}`);
        }
      }
      if (!isWhole && wrong.length === 0) wrong.push(`${name} never comes to its end`);
      say(`${name}: ${Array.from(ends, ([end, times]) => `${times} × ${end}`).join(", ")}`);
    } catch (error) {
      wrong.push(`${name}: ${errorText(error)}`);
    } finally {
      await Promise.all([pair?.a.kill(), pair?.b.kill()]);
      discard(place);
    }
    if (wrong.length >= WRONG_ENOUGH) break;
  }
  return resultOf(`${kills} kills, ${wrong.length} wrong`, wrong);
}
