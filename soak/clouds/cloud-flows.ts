// Everything that makes the engines of clouds change something outside, each as its caller does it: what
// must be there before, the request, and what the caller does who got no answer to it.

import { at } from "../../tests/support/http-client.ts";
import { KEPT_ROLE } from "./cloud-accounts.ts";
import { APP_ROLE, type CloudSite, SHARED_ROLE, USER_ROLE } from "./cloud-site.ts";

export interface Flow {
  readonly name: string;
  readonly cloud: "a" | "b";
  /** Gives what `run` needs. */
  prepare?(site: CloudSite): Promise<string>;
  /** Until it is acknowledged. */
  run(site: CloudSite, prepared: string): Promise<void>;
  /** After a crash and its rollback: asks again where that is what a caller does. */
  again?(site: CloudSite, prepared: string): Promise<void>;
  /** What is not in order besides what cloud-accounts.ts looks at. */
  wrong?(site: CloudSite, prepared: string): Promise<string | null>;
  /** So that the next one begins where this one began. */
  restore?(site: CloudSite, prepared: string): Promise<void>;
}

const issue = (cloud: "a" | "b", path: string): Flow => ({
  name: `issue ${path}`,
  cloud,
  run: async (site) => void (await site.api.expect([200], "GET", path)),
});

const revoke = (cloud: "a" | "b", path: string): Flow => {
  const end = async (site: CloudSite, lease_id: string) => {
    const body = { lease_id, sync: true };
    await site.api.expect([204], "POST", "sys/leases/revoke", { body });
  };
  return {
    name: `revoke ${path}`,
    cloud,
    prepare: async (site) => String(at(await site.api.expect([200], "GET", path), "lease_id")),
    run: end,
    again: end,
    wrong: async (site, lease) =>
      (await site.leases(path)).includes(lease) ? "the lease is still there" : null,
  };
};

let users = 0;

/** A user with a key that is not ours; gives its name. */
function adoptedUser(site: CloudSite): string {
  const name = `adopted-${++users}`;
  site.a.control.makeUser(name, { keys: 1 });
  return name;
}

const STATIC = "clouda/static-roles/ci";

async function createStatic(site: CloudSite, username: string): Promise<void> {
  const body = { username, rotation_period: "24h" };
  await site.api.expect([200], "POST", STATIC, { body });
}

/** What is stored is there, and beside it nothing that nobody knows. */
async function staticKeys(site: CloudSite, username: string): Promise<string | null> {
  const user = site.a.control.state().users.find(({ name }) => name === username);
  const keys = user?.keys.map(({ id }) => id) ?? [];
  const [foreign = "", earlier = ""] = known.get(username) ?? [];
  const creds = await site.api.expect([200, 404], "GET", "clouda/static-creds/ci");
  const stored = creds.status === 200 ? String(at(creds, "data", "access_key")) : "";
  if (stored !== "" && !keys.includes(stored)) return "the stored key of the static role is gone";
  const strange = keys.filter((id) => ![foreign, earlier, stored].includes(id));
  return strange.length === 0 ? null : `${strange.length} keys of the static user are nobody's`;
}

/** Keys that may be there, by user: the one from before, and ours before the rotation. */
const known = new Map<string, readonly string[]>();

function remember(site: CloudSite, username: string): void {
  const user = site.a.control.state().users.find(({ name }) => name === username);
  known.set(username, user?.keys.map(({ id }) => id) ?? []);
}

const removeStatic = async (site: CloudSite) =>
  void (await site.api.expect([200, 204, 404], "DELETE", STATIC));

const kept = (site: CloudSite, role: string) => ({
  persist_app: true,
  cloudb_roles: [site.azureRole(role)],
  permanently_delete: true,
});

const writeKept = async (site: CloudSite, role: string) => {
  const path = `cloudb/roles/${KEPT_ROLE}`;
  await site.api.expect([200, 204], "POST", path, { body: kept(site, role) });
};

const removeKept = async (site: CloudSite) =>
  void (await site.api.expect([200, 204, 404], "DELETE", `cloudb/roles/${KEPT_ROLE}`));

export const FLOWS: readonly Flow[] = [
  issue("a", `clouda/creds/${USER_ROLE}`),
  revoke("a", `clouda/creds/${USER_ROLE}`),
  {
    name: "rotate the root key of cloud A",
    cloud: "a",
    run: async (site) => void (await site.api.expect([200], "POST", "clouda/config/rotate-root")),
  },
  {
    name: "make a static role",
    cloud: "a",
    prepare: async (site) => {
      const name = adoptedUser(site);
      remember(site, name);
      return name;
    },
    run: createStatic,
    wrong: staticKeys,
    restore: removeStatic,
  },
  {
    name: "rotate a static role",
    cloud: "a",
    prepare: async (site) => {
      const name = adoptedUser(site);
      await createStatic(site, name);
      remember(site, name);
      return name;
    },
    run: async (site) => void (await site.api.expect([200], "POST", `${STATIC}/rotate`)),
    wrong: staticKeys,
    restore: removeStatic,
  },
  {
    name: "remove a static role",
    cloud: "a",
    prepare: async (site) => {
      const name = adoptedUser(site);
      remember(site, name); // before: ours must go
      await createStatic(site, name);
      return name;
    },
    run: removeStatic,
    again: removeStatic,
    wrong: staticKeys,
  },
  issue("b", `cloudb/creds/${APP_ROLE}`),
  revoke("b", `cloudb/creds/${APP_ROLE}`),
  issue("b", `cloudb/creds/${SHARED_ROLE}`),
  revoke("b", `cloudb/creds/${SHARED_ROLE}`),
  {
    name: "make a role that keeps an application",
    cloud: "b",
    run: (site) => writeKept(site, "Contributor"),
    restore: removeKept,
  },
  {
    name: "change a role that keeps an application",
    cloud: "b",
    prepare: async (site) => {
      await writeKept(site, "Contributor");
      return "";
    },
    run: (site) => writeKept(site, "Reader"),
    restore: removeKept,
  },
  {
    name: "remove a role that keeps an application",
    cloud: "b",
    prepare: async (site) => {
      await writeKept(site, "Contributor");
      return "";
    },
    run: removeKept,
    again: removeKept,
  },
  {
    name: "rotate the root password of cloud B",
    cloud: "b",
    run: async (site) => {
      await site.api.expect([200, 204], "POST", "cloudb/rotate-root");
      await untilRotated(site);
    },
  },
];

/** A minute and more at a time, as often as the engine wants to see the new password work. */
async function untilRotated(site: CloudSite): Promise<void> {
  await site.until(async () => {
    const config = await site.api.expect([200], "GET", "cloudb/config");
    const root = site.b.control.state().applications.find(({ appId }) => appId === site.b.clientId);
    if (at(config, "data", "root_rotation") === "none" && root?.passwords.length === 1) return null;
    site.advance(61);
    return "the rotation of the root password does not end";
  }, 20_000);
}
