// What makes the engine for databases change something there, each as its caller does it.

import { at } from "../../tests/support/http-client.ts";
import { CREDS, type DatabaseSite } from "./database-site.ts";

export interface Flow {
  readonly name: string;
  /** Gives what `run` needs. */
  prepare?(site: DatabaseSite): Promise<string>;
  /** Until it is acknowledged. */
  run(site: DatabaseSite, prepared: string): Promise<void>;
  /** What must be as soon as the server is there again, whatever it was cut off at. */
  atOnce?(site: DatabaseSite, prepared: string): Promise<string | null>;
  /** What must come to be by itself. */
  settled?(site: DatabaseSite, prepared: string): Promise<string | null>;
  /** Whether its caller, who got no answer, asks again. */
  readonly again?: true;
  /** What must be then. */
  done?(site: DatabaseSite, prepared: string): Promise<string | null>;
  restore?(site: DatabaseSite, prepared: string): Promise<void>;
}

const STATIC = "database/static-roles/batch";
const CREDS_OF_STATIC = "database/static-creds/batch";
const FIRST_PASSWORD = "x";

const LONGEST_MS = 20_000;

let users = 0;

async function adoptedUser(site: DatabaseSite): Promise<string> {
  const name = `adopted_${++users}`;
  await site.newUser(name, FIRST_PASSWORD);
  return name;
}

async function createStatic(site: DatabaseSite, username: string): Promise<void> {
  const body = { db_name: "pg", username, rotation_period: "240h" };
  await site.api.expect([200, 204], "POST", STATIC, { body });
}

async function removeStatic(site: DatabaseSite): Promise<void> {
  await site.api.expect([204, 404], "DELETE", STATIC);
}

/** Null: there is none, or its password is not known. */
async function staticPassword(site: DatabaseSite) {
  const answer = await site.api.expect([200, 400], "GET", CREDS_OF_STATIC);
  if (answer.status === 400) return null;
  const warnings = (at(answer, "warnings") ?? []) as readonly string[];
  return { password: String(at(answer, "data", "password")), warnings };
}

/** Its password works, or it is said why it may not; while nobody knows of the user it is the one of before. */
async function worksOrSaysWhy(site: DatabaseSite, username: string): Promise<string | null> {
  const known = await staticPassword(site);
  const isThere = (await site.api.expect([200, 404], "GET", STATIC)).status === 200;
  if (known === null) {
    if (isThere || (await site.database.canLogIn(username, FIRST_PASSWORD))) return null;
    return "the password of a user is changed, and nobody knows it";
  }
  if (await site.database.canLogIn(username, known.password)) return null;
  const isSaid = known.warnings.some((one) => one.includes("interrupted"));
  return isSaid ? null : "the password of a static role does not work, and nobody is told";
}

/** One that there is works, and nothing of a rotation is left. */
async function staticSettled(site: DatabaseSite, username: string): Promise<string | null> {
  const isThere = (await site.api.expect([200, 404], "GET", STATIC)).status === 200;
  if (!isThere) return null;
  const known = await staticPassword(site);
  if (known === null) return "the password of a static role is not known";
  if (known.warnings.length > 0) return `a rotation is not over: ${known.warnings.join()}`;
  const works = await site.database.canLogIn(username, known.password);
  return works ? null : "the password of a static role does not work";
}

/** The server is not there any more: the database has done what it was asked first. */
async function cutOff(site: DatabaseSite, path: string): Promise<void> {
  site.death.arm({ step: "call", moment: "after", nth: 1 });
  await site.api.call("POST", path).catch(() => {});
  if (!site.death.disarm()) throw new Error(`${path} made no call`);
  await site.kill();
}

const ROTATE_ROOT = "database/rotate-root/pg";
const ROTATE_STATIC = "database/rotate-role/batch";

const ofStatic = {
  atOnce: worksOrSaysWhy,
  settled: staticSettled,
  done: staticSettled,
  again: true,
  restore: removeStatic,
} as const;

export const FLOWS: readonly Flow[] = [
  { name: "issue", run: async (site) => void (await site.api.expect([200], "GET", CREDS)) },
  {
    name: "revoke",
    prepare: async (site) => String(at(await site.api.expect([200], "GET", CREDS), "lease_id")),
    run: async (site, lease_id) => {
      const body = { lease_id, sync: true };
      await site.api.expect([204], "POST", "sys/leases/revoke", { body });
    },
    again: true,
    done: async (site, lease) =>
      (await site.leases(CREDS)).includes(lease) ? "the lease is still there" : null,
  },
  {
    name: "rotate the root password",
    run: async (site) => void (await site.api.expect([200, 204], "POST", ROTATE_ROOT)),
    again: true,
  },
  {
    name: "make a static role",
    prepare: adoptedUser,
    run: createStatic,
    ...ofStatic,
  },
  {
    name: "rotate a static role",
    prepare: async (site) => {
      const name = await adoptedUser(site);
      await createStatic(site, name);
      return name;
    },
    run: async (site) => void (await site.api.expect([200, 204], "POST", ROTATE_STATIC)),
    ...ofStatic,
  },
  {
    name: "settle the root password",
    prepare: async (site) => {
      await cutOff(site, ROTATE_ROOT);
      return "";
    },
    run: async (site) => {
      await site.start();
      const wrong = await site.works();
      if (wrong !== null) throw new Error(wrong);
    },
  },
  {
    name: "settle the password of a static role",
    prepare: async (site) => {
      const name = await adoptedUser(site);
      await createStatic(site, name);
      await cutOff(site, ROTATE_STATIC);
      return name;
    },
    run: async (site, name) => {
      await site.start();
      await site.until(() => staticSettled(site, name), LONGEST_MS);
    },
    atOnce: worksOrSaysWhy,
    settled: staticSettled,
    restore: removeStatic,
  },
];
