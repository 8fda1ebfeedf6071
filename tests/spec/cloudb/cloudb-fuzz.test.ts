// Case X5 of docs/cases/cloud-engines.md for cloudb: role bodies of any kind, and credentials for what was stored.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { often } from "../../support/often.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";

const RUNS = often(100);

const TEXTS =
  "[] {} [{}] null 0 15m 1h / // /.. .. a/b -1s 1e9h /subscriptions/../x ' '' %27 a,b \u0000 \ud800 é CloudBADMyOrg __proto__";
const text = fc.constantFrom(...TEXTS.split(" "), "", " ", "\r\n");
const anything = fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }));
const field = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: anything });

test(`X5: ${RUNS} role bodies are stored or refused, and what is stored gives credentials or a refusal`, async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  const { scope } = server;
  const group = control.makeGroup("ops");
  control.makeResourceGroup("a b'&?#");
  const { id } = control.makeApplication("theirs");
  const grant = fc.record(
    {
      role_name: field(fc.constantFrom("Reader", "Owner", "None")),
      role_id: fc.oneof(fc.constant(""), text),
      scope: field(fc.constantFrom(scope, `${scope}/resourceGroups/a b'&?#`, "/")),
    },
    { requiredKeys: ["scope"] },
  );
  const member = fc.record(
    { object_id: field(fc.constantFrom(group, "")), group_name: field(fc.constant("ops")) },
    { requiredKeys: [] },
  );
  const listOf = <T>(of: fc.Arbitrary<T>) => {
    const list = fc.array(of, { maxLength: 2 });
    return field(
      fc.oneof(
        list,
        list.map((value) => JSON.stringify(value)),
      ),
    );
  };
  const seconds = field(fc.constantFrom(0, 60, "1h", "182d", 10 ** 12));
  const fields = fc.record({
    cloudb_roles: listOf(grant),
    cloudb_groups: listOf(member),
    application_object_id: fc.oneof(fc.constantFrom("", id), text),
    persist_app: field(fc.boolean()),
    ttl: seconds,
    max_ttl: seconds,
    explicit_max_ttl: seconds,
    permanently_delete: field(fc.boolean()),
    sign_in_audience: field(fc.constantFrom("", "CloudBADMyOrg")),
    tags: field(fc.array(fc.string(), { maxLength: 2 })),
  });
  const good = { cloudb_roles: [{ role_name: "Reader", scope }] };
  /** A good role with some fields that may be anything. */
  const body = fc
    .record({ fields, count: fc.nat({ max: 4 }), from: fc.nat(9) })
    .map(({ fields: any, count, from }) => {
      const entries = Object.entries(any);
      const some = [...entries, ...entries].slice(from, from + count);
      return { ...good, ...Object.fromEntries(some) };
    });
  let [stored, issued] = [0, 0];
  await fc.assert(
    fc.asyncProperty(body, async (role) => {
      const written = await server.timed(server.ask("POST", "cloudb/roles/r", role));
      assert.ok([200, 204, 400].includes(written.status), `${written.status} ${written.text}`);
      if (written.status === 400) return;
      stored++;
      const creds = await server.askCreds("r");
      assert.ok([200, 400, 502].includes(creds.status), `${creds.status} ${creds.text}`);
      if (creds.status === 200) issued++;
      await server.timed(server.ask("DELETE", "cloudb/roles/r"));
    }),
    { numRuns: RUNS },
  );
  assert.ok(stored > RUNS / 20 && issued > RUNS / 20, `${stored} stored, ${issued} given`);
});
