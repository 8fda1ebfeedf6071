// Case X5 of docs/cases/cloud-engines.md for clouda: role bodies of any kind, and credentials for what was stored.

import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { cloudaServer, DEPLOY_ROLE, READ_ONLY } from "../../support/servers/cloud-server.ts";

const RUNS = Number(process.env["CLOUDA_FUZZ_RUNS"] ?? 150);

const DOCUMENT = '{"Version":"2012-10-17","Statement":[]}';
const TEXTS =
  "iam_user assumed_role federation_token , {} [] null / /a/ 0 15m a=b developers \u0000 é";
const text = fc.constantFrom(...TEXTS.split(" "), READ_ONLY, DEPLOY_ROLE, DOCUMENT, "", " ");
const arn = fc.constantFrom(READ_ONLY, DEPLOY_ROLE);
const anything = fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.jsonValue({ maxDepth: 2 }));
/** What a field may be, next to anything else. */
const field = <T>(usual: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: anything });

const fields = fc.record({
  credential_type: field(fc.constantFrom("iam_user", "assumed_role", "federation_token")),
  role_arns: field(fc.array(arn, { maxLength: 2 })),
  policy_arns: field(fc.array(arn, { maxLength: 12 })),
  policy_document: field(fc.constantFrom(DOCUMENT, `{"a":"${"b".repeat(2100)}"}`)),
  iam_groups: field(fc.constantFrom([], ["developers"], ["nobody"])),
  iam_tags: field(fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 })),
  default_sts_ttl: field(fc.constantFrom(0, 900, "1h", 10 ** 9)),
  max_sts_ttl: field(fc.constantFrom(0, 900, "1h", 10 ** 12)),
  user_path: field(fc.constantFrom("", "/", "/a/", "//")),
  permissions_boundary_arn: field(fc.constantFrom("", READ_ONLY)),
  session_tags: field(fc.dictionary(fc.string(), fc.string(), { maxKeys: 3 })),
  external_id: field(fc.string()),
  policy: anything,
  arn: anything,
  more: anything,
});

const GOOD: readonly object[] = [
  { credential_type: "iam_user", policy_arns: [READ_ONLY], policy_document: DOCUMENT },
  { credential_type: "assumed_role", role_arns: [DEPLOY_ROLE], iam_groups: ["developers"] },
  { credential_type: "federation_token", policy_arns: [READ_ONLY] },
  { policy: DOCUMENT },
  {},
];

/** A good role with some fields that may be anything. */
const body = fc
  .record({ good: fc.constantFrom(...GOOD), fields, count: fc.nat({ max: 4 }), from: fc.nat(14) })
  .map(({ good, fields: any, count, from }) => {
    const entries = Object.entries(any);
    const some = [...entries, ...entries].slice(from, from + count);
    return { ...good, ...Object.fromEntries(some) };
  });

test(`X5: ${RUNS} role bodies are stored or refused, and what is stored gives credentials or a refusal`, async (t) => {
  const server = await cloudaServer(t);
  let [stored, issued] = [0, 0];
  await fc.assert(
    fc.asyncProperty(body, async (role) => {
      await server.ask("DELETE", "clouda/roles/r");
      const written = await server.writeRole("r", role);
      assert.ok([200, 204, 400].includes(written.status), written.text);
      if (written.status === 400) return;
      stored++;
      for (const path of ["creds", "sts"]) {
        const { status, text: said } = await server.askCreds(`clouda/${path}/r`);
        assert.ok(status === 200 || status === 400, `${status} ${said}`);
        if (status === 200) issued++;
      }
    }),
    { numRuns: RUNS },
  );
  assert.ok(stored > RUNS / 20 && issued > 0, `${stored} stored, ${issued} given`);
});
