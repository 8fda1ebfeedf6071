// Users of databases, made on demand by plugins of type `database` and ended with their leases; passwords of users that are
// there already, which rotate.

import { MINUTE, SECOND } from "@holdfast/shared/text/duration";
import type { EngineType } from "@holdfast/plugin-sdk/engine";
import { receiptFacts } from "../cloud/receipt-facts.ts";
import { configApi } from "./api/api-config.ts";
import { rolesApi } from "./api/api-roles.ts";
import { staticApi } from "./api/api-static.ts";
import { DatabaseEngine } from "./engine.ts";
import { optionUnknown } from "./failures.ts";
import { databaseMetrics } from "./metrics.ts";
import { USER } from "./roles/users.ts";

/** Of what unmounting leaves behind: a text is no list of thousands. */
const MAX_NAMED = 50;

export const databaseType: EngineType<DatabaseEngine> = {
  type: "database",
  kind: "secret",
  summary: "Users of databases, made on demand by plugins and ended with their leases.",
  version: "v1.0.0+builtin",
  paths: () => [...configApi, ...rolesApi, ...staticApi],
  checkOptions: (options) => {
    const [unknown] = Object.keys(options);
    if (unknown !== undefined) throw optionUnknown(unknown);
    return options;
  },
  metrics: databaseMetrics,
  open: async (needs) => {
    const engine = new DatabaseEngine(needs);
    await engine.open();
    return engine;
  },
  secrets: {
    [USER]: {
      renew: ({ users }, lease, increment) => users.renew(lease, increment),
      revoke: ({ users }, lease, signal) => users.revoke(lease, signal),
      receipt: ({ internal }) => receiptFacts(internal, ["connection", "username"]),
    },
  },
  undo: {
    [USER]: ({ users }, record, signal) => users.undo(record, signal),
  },
  minUndoAge: 5n * MINUTE,
  jobDeadline: 90n * SECOND,
  periodic: (engine) => engine.settle(),
  plugins: ({ configuration }) => configuration.plugins(),
  reloadPlugin: ({ configuration }, place) => configuration.reloadAt(place),
  concerns: ({ concerns }) => concerns.now(),
  abandoned: async ({ staticRoles }) => {
    const managed = staticRoles.managed();
    if (managed.length === 0) return null;
    const named = managed.slice(0, MAX_NAMED).map(([user, role]) => `${role} (user ${user})`);
    const more = managed.length - named.length;
    const list = more === 0 ? named.join(", ") : `${named.join(", ")} and ${more} more`;
    return `${managed.length} static ${managed.length === 1 ? "role" : "roles"}: ${list}`;
  },
  lead: ({ staticRoles }, leading) => staticRoles.lead(leading),
  rest: ({ staticRoles }) => staticRoles.rest(),
  close: (engine) => engine.close(),
  invalidate: (engine, keys) => engine.invalidate(keys),
};
