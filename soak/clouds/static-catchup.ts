// Static roles after a day of downtime: each that is overdue is rotated once, the longest overdue first,
// at a bounded rate; and a server that is killed in the middle of it leaves no role whose stored key does
// not work.

import { Prng } from "../../sim/prng.ts";
import { at } from "../../tests/support/http-client.ts";
import { CloudSite } from "./cloud-site.ts";
import { type Result, resultOf } from "../result.ts";
import { errorText } from "../../tests/support/error-text.ts";

export interface StaticCatchupOptions {
  readonly n: number;
  readonly seed: number;
  /** A key of a user disappears: what is stored for its role cannot work. */
  readonly plant?: "lost-key";
  readonly say: (line: string) => void;
}

const PERIOD_S = 3600;
const DOWN_S = 86_400;
const MAX_PER_SECOND = 2;
const BURST = 2; // at an edge of a second, and the first one after a start
const MORE_MS = 60_000; // beyond what the rate allows
const CLIENTS = 4;

export async function staticCatchup(options: StaticCatchupOptions): Promise<Result> {
  const figures = [`${options.n} roles`];
  const wrong: string[] = [];
  let site: CloudSite | null = null;
  try {
    site = await CloudSite.open("static-catchup");
    wrong.push(...(await catchUp(options, site, figures)));
  } catch (error) {
    wrong.push(`${errorText(error)}\n${site?.lastLog ?? ""}`);
  } finally {
    await site?.close();
  }
  return resultOf(figures.join(", "), wrong);
}

async function catchUp(
  { n, seed, plant, say }: StaticCatchupOptions,
  site: CloudSite,
  figures: string[],
): Promise<string[]> {
  const wrong: string[] = [];
  // By chance: what is due first must not be what is named first.
  const users = new Prng(seed).shuffle(Array.from({ length: n }, (_, i) => `adopted-${i}`));
  await createAll(site, users);
  const dueOrder = site.a.control.calls("CreateAccessKey").map(({ params }) => params["UserName"]);
  say(`${n} roles are made; a day passes without the server`);
  await site.kill();
  site.advance(DOWN_S);
  site.a.control.forgetCalls();

  const began = performance.now();
  await site.start();
  const rotations = () => site.a.control.calls("CreateAccessKey");
  const half = Math.ceil(n / 2);
  const longest = (n * 1000) / MAX_PER_SECOND + MORE_MS;
  const reached = (count: number) => async () => {
    const seen = rotations().length;
    return seen >= count ? null : `${seen} of ${count} roles are rotated`;
  };
  await site.until(reached(half), longest);
  // In the middle of one: the key is made, and the server never learns of it.
  site.a.control.fault({ kind: "hold", action: "CreateAccessKey", when: "after" });
  await site.a.control.whenHeld();
  await site.kill();
  site.a.control.calm();
  const cut = rotations().length;
  say(`killed in the middle of rotation ${cut}`);
  await site.start();
  await site.until(async () => {
    const done = new Set(rotations().map(({ params }) => params["UserName"]));
    return done.size === n ? null : `${done.size} of ${n} roles are rotated`;
  }, longest);
  const seconds = (performance.now() - began) / 1000;
  site.advance(600); // what the killed one left is old enough
  if (plant === "lost-key") loseKey(site);
  await site.until(() => unusable(site, users), plant === undefined ? MORE_MS : 2000);

  const order = rotations().map(({ params }) => params["UserName"]);
  const again = new Set(order.filter((user, i) => order.indexOf(user) !== i));
  const first = order.filter((user, i) => order.indexOf(user) === i);
  const late = first.findIndex((user, i) => user !== dueOrder[i]);
  if (late >= 0) wrong.push(`rotation ${late + 1} was not that of the longest overdue role`);
  if (again.size > 1) wrong.push(`${again.size} roles were rotated twice`);
  const rate = busiestSecond(rotations().map(({ at: when }) => when));
  if (rate > MAX_PER_SECOND + BURST) wrong.push(`${rate} rotations in one second`);
  figures.push(
    `rotated in ${seconds.toFixed(0)} s, ${rate} at most in a second`,
    `killed once in the middle (${again.size} repeated)`,
    `${wrong.length === 0 ? "every stored key works" : "something is wrong"}`,
  );
  return wrong;
}

async function createAll(site: CloudSite, users: readonly string[]): Promise<void> {
  for (const username of users) site.a.control.makeUser(username);
  // Several at once only where their order does not matter: one after the other gives each its time.
  for (const username of users) {
    const body = { username, rotation_period: PERIOD_S };
    await site.api.expect([200], "POST", `clouda/static-roles/of-${username}`, { body });
  }
}

/** What keeps stored keys from working, or leaves keys that nobody knows; null when nothing does. */
async function unusable(site: CloudSite, users: readonly string[]): Promise<string | null> {
  const keysOf = new Map(
    site.a.control.state().users.map(({ name, keys }) => [name, keys.map(({ id }) => id)] as const),
  );
  const waiting = [...users];
  let found: string | null = null;
  const client = async () => {
    for (let user = waiting.pop(); user !== undefined; user = waiting.pop()) {
      const path = `clouda/static-creds/of-${user}`;
      const stored = String(at(await site.api.expect([200], "GET", path), "data", "access_key"));
      const keys = keysOf.get(user) ?? [];
      if (!keys.includes(stored)) found ??= `the stored key of ${user} does not work`;
      else if (keys.length > 2) found ??= `${user} has ${keys.length} keys`;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return found;
}

function loseKey({ a }: CloudSite): void {
  const { account } = a.control;
  const user = account.users.get("adopted-0");
  for (let [key] = user?.keys ?? []; user !== undefined && key !== undefined; [key] = user.keys) {
    account.removeKey(user, key);
  }
}

/** How many times, in ms, lie within one second at most. */
function busiestSecond(times: readonly number[]): number {
  return times.reduce((max, from) => {
    return Math.max(max, times.filter((time) => time >= from && time < from + 1000).length);
  }, 0);
}
