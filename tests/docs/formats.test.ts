// The examples on the pages of formats, read and written again by the codecs that read the store; and
// every member of an example is explained on its page.

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { Codec } from "@holdfast/shared/codec";
import { roleCodec } from "../../engines/approle/role.ts";
import { secretIdCodec } from "../../engines/approle/secret-id.ts";
import { rootCodec } from "../../engines/clouda/keys/root-config.ts";
import {
  keyMakingCodec,
  staticCredsCodec,
  staticRoleCodec,
} from "../../engines/clouda/keys/static-role.ts";
import { leaseConfigCodec } from "../../engines/clouda/roles/lease-config.ts";
import { roleCodec as cloudaRoleCodec } from "../../engines/clouda/roles/stored-role.ts";
import { roleCodec as cloudbRoleCodec } from "../../engines/cloudb/roles/role.ts";
import { configCodec as cloudbConfigCodec } from "../../engines/cloudb/rotation/config.ts";
import { rotationCodec } from "../../engines/cloudb/rotation/rotation-state.ts";
import { userCodec } from "../../engines/userpass/user.ts";
import { leaseCodec } from "../../src/leases/lease.ts";
import { recordCodec as mountCodec } from "../../src/mounts/table/mount-record.ts";
import { writeAheadCodec } from "../../src/mounts/undo/write-ahead.ts";
import { recordCodec as namespaceCodec } from "../../src/namespaces/record.ts";
import { amountCodec } from "../../src/wrapping/allowance.ts";
import { madeCodec } from "../../src/wrapping/cubbyhole-contents.ts";
import { answerIn, keptAnswer } from "../../src/wrapping/wrapped-answer.ts";
import { objectCodec } from "../../src/wrapping/cubbyhole-contents.ts";
import { configCodec, leaseQuotaCodec, quotaCodec } from "../../src/quotas/quota.ts";
import { secondaryCodec } from "../../src/replication/joining/primary-rows.ts";

const ROOT = join(import.meta.dirname, "..", "..");

function again<T>(codec: Codec<T>): (bytes: Uint8Array) => Uint8Array {
  return (bytes) => codec.encode(codec.decode(bytes));
}

const CODECS: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  lease: again(leaseCodec),
  mount: again(mountCodec),
  "write-ahead": again(writeAheadCodec),
  namespace: again(namespaceCodec),
  "rate-quota": again(quotaCodec),
  "lease-quota": again(leaseQuotaCodec),
  "quota-config": again(configCodec),
  user: again(userCodec),
  role: again(roleCodec),
  "secret-id": again(secretIdCodec),
  // Most of these take any JSON: cloud-formats.test.ts compares them with what the engines really write.
  "clouda-root": again(rootCodec),
  "clouda-lease": again(leaseConfigCodec),
  "clouda-role": again(cloudaRoleCodec),
  "clouda-static-role": again(staticRoleCodec),
  "clouda-static-creds": again(staticCredsCodec),
  "clouda-static-making": again(keyMakingCodec),
  "cloudb-config": again(cloudbConfigCodec),
  "cloudb-rotation": again(rotationCodec),
  "cloudb-role": again(cloudbRoleCodec),
  "wrapped-answer": (bytes) => {
    const answer = answerIn(objectCodec.decode(bytes));
    assert.ok(answer !== null);
    return objectCodec.encode(keptAnswer(answer));
  },
  "wrapping-made": again(madeCodec),
  amount: again(amountCodec),
  secondary: again(secondaryCodec),
};

const examples = globSync("docs/formats/*.md", { cwd: ROOT }).flatMap((page) => {
  const source = readFileSync(join(ROOT, page), "utf8");
  return Array.from(source.matchAll(/```json ([a-z-]+)\n([\s\S]*?)```/g), (match) => {
    const [, name = "", text = ""] = match;
    return { page, name, text, prose: source.replace(/```[\s\S]*?```/g, "") };
  });
});

test("every codec has its example, and every example its codec", () => {
  assert.deepEqual(examples.map(({ name }) => name).toSorted(), Object.keys(CODECS).toSorted());
});

for (const { page, name, text, prose } of examples) {
  test(`${page}: the ${name} is one, and its members are explained`, () => {
    const stored: object = JSON.parse(text);
    const codec = CODECS[name];
    assert.ok(codec !== undefined, name);
    const written = codec(Buffer.from(JSON.stringify(stored)));
    assert.deepEqual(JSON.parse(Buffer.from(written).toString("utf8")), stored);
    for (const member of Object.keys(stored)) assert.ok(prose.includes(`\`${member}\``), member);
  });
}
