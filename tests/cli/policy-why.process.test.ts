// `policy why` on the server itself: what somebody on call reads about a token that is refused.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startServer } from "../support/servers/test-server.ts";
import { makeHome, run } from "./harness.ts";
import { runTranscript } from "./transcript.ts";

const TRANSCRIPT = `
$ holdfast policy write shop -
< path "secret/*" { capabilities = ["read", "update"] }
< path "secret/shop/*" { capabilities = ["read"] }
< path "sys/policies/acl/*" { capabilities = ["read"] }
Success! ACL policy written: shop

$ holdfast policy write -type egp -level soft-mandatory -paths 'sys/policies/*' hours -
< rule day { now.getHours() >= 7 }
< # Nobody looks at policies at night.
< main { rule.day }
Success! EGP written: hours

$ holdfast acl token create -name till -policy shop -quiet
{{accessor}}

$ holdfast policy why {{accessor}} update secret/shop/prices
DENIED: update on secret/shop/prices
Because "secret/shop/*" of policy "shop" on line 2, column 1 grants read, but not update.

Decided by:
  shop, line 2, column 1: path "secret/shop/*" grants read

Matched too, and did not decide:
  shop, line 1, column 1: path "secret/*" – the weaker of the two: its first wildcard stands earlier

Smallest rule that would allow it; add it to a policy of the token:
  path "secret/shop/prices" { capabilities = ["read", "update"] }

$ holdfast policy why -field minimal_policy {{accessor}} delete sys/policies/acl/x
path "sys/policies/acl/x" { capabilities = ["delete", "read"] }

$ holdfast policy why -try shop={{new}} {{accessor}} update /v1/secret/shop/prices
ALLOWED: update on secret/shop/prices
...
  shop, line 1, column 1: path "secret/shop/*" grants update

$ holdfast policy why -at 2026-01-01T03:00:00Z {{accessor}} read sys/policies/acl/shop
DENIED: read on sys/policies/acl/shop
Because egp hours (soft-mandatory) fails: main (line 3) = false, day (line 1) = false.

The ACL allows it by:
  shop, line 3, column 1: path "sys/policies/acl/*" grants read

Governing policies:
  Result    Kind    Policy    Level             Rules
  ------    ----    ------    -----             -----
  fail      egp     hours     soft-mandatory    main (line 3) = false, day (line 1) = false – Nobody looks at policies at night.

The caller may override it: X-Service-Policy-Override: true, which is audited.

$ holdfast policy why -at 2026-01-01T03:00:00Z -policy-override {{accessor}} read sys/policies/acl/shop
ALLOWED: read on sys/policies/acl/shop
...

$ holdfast policy why -field allowed -at 2026-01-01T12:00:00Z {{accessor}} read sys/policies/acl/shop
true

$ holdfast policy why -field allowed -policy shop - read secret/x
true

$ holdfast policy why -field allowed -policy shp -policy new -try new={{new}} - read secret/x
! Warning: there is no policy shp
false

$ holdfast policy why self update sys/seal
ALLOWED: update and sudo on sys/seal
Because a management token may do everything that no namespace above denies it.

$ holdfast policy why 00000000-1111-4222-8333-444455556666 read secret/x
! Error: POST sys/inspect/request: invalid accessor (status 400)
! Next: check the accessor and -namespace: \`holdfast acl token list\` shows accessors
? 1

$ holdfast policy why -policy shop {{accessor}} read secret/x
! Error: -policy is for a token that does not exist: give - as ACCESSOR
! ...
? 2
`;

test("why names policy, rule, line, what else matched, and what would allow it", async (t) => {
  const server = await startServer();
  t.after(() => server.stop());
  const { token } = await server.open();
  const body = { type: "kv", options: { version: "1" } };
  await server.call("POST", "/v1/sys/mounts/secret", { token, body });
  // There at every time of day: the EGP below decides by the clock whether the client may look.
  const there = { policy: 'path "x" { capabilities = ["read"] }' };
  await server.call("POST", "/v1/sys/policies/acl/x", { token, body: there });
  const home = makeHome((call) => t.after(call));
  const file = join(home, "new.hcl");
  writeFileSync(file, 'path "secret/shop/*" { capabilities = ["update"] }');
  const env = { HOLDFAST_ADDR: server.url, HOLDFAST_TOKEN: token, HOME: home };
  const known = new Map([["new", file]]);
  await runTranscript("why", TRANSCRIPT, env, known);
  const narrow = await run(
    ["policy", "why", "-policy", "shop", "-", "update", "secret/shop/prices"],
    {
      env,
      columns: 80,
    },
  );
  const lines = narrow.stdout.split("\n").filter((line) => !line.startsWith('  path "'));
  assert.ok(lines.length > 9 && lines.every((line) => line.length <= 80), narrow.stdout);

  // Whom it is about is not told: neither by the command that was denied, nor by this one.
  const accessor = known.get("accessor")!;
  const secret = ["acl", "token", "info", "-show-secret", "-field", "SecretID", accessor];
  const client = { ...env, HOLDFAST_TOKEN: (await run(secret, { env })).stdout.trim() };
  const denied = await run(["policy", "delete", "x"], { env: client });
  assert.equal(denied.code, 4, denied.all);
  assert.ok(!denied.all.includes("shop") && !denied.all.includes("line"), denied.all);
  const curious = await run(["policy", "why", accessor, "read", "secret/x"], { env: client });
  assert.equal(curious.code, 4, curious.all);
  assert.match(
    curious.stderr,
    /^Next: ask with a token that has update and sudo on .*, or with a management token$/m,
  );
});
