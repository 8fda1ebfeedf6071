// What engines say that needs attention: rotations that fail again and again, and those that are long due, of static
// roles and of both root credentials.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { cloudaServer } from "../../support/servers/cloud-server.ts";
import { cloudbServer } from "../../support/servers/cloudb-server.ts";
import { type EngineServer, HOUR, MINUTE, SECOND } from "../../support/servers/engine-server.ts";

const NIGHTLY = { rotation_schedule: "0 3 * * *" };

async function subjects(server: EngineServer, code: string): Promise<string[]> {
  const answer = await server.must("GET", "sys/attention");
  assert.equal(at(answer, "data", "complete"), true);
  const items = at(answer, "data", "items") as { code: string; subject: string | null }[];
  return items.filter((item) => item.code === code).map(({ subject }) => subject ?? "");
}

const isOpen = async (server: EngineServer, code: string, subject: string) =>
  (await subjects(server, code)).includes(subject);

test("PV55: rotations of cloud A that fail or are overdue are told until they are done", async (t) => {
  const server = await cloudaServer(t);
  await server.configure(NIGHTLY);
  server.fake.control.makeUser("app");
  await server.must("POST", "clouda/static-roles/app", { username: "app", ...NIGHTLY });
  const places = ["clouda/config/root", "clouda/static-roles/app"];
  for (const code of ["rotation.failed", "rotation.overdue"]) {
    assert.deepEqual(await subjects(server, code), []);
  }
  const { control } = server.fake;
  const refusal = { kind: "error", action: "CreateAccessKey", status: 403, code: "AccessDenied" };
  const fault = control.fault({ ...refusal, kind: "error", times: null });
  await server.time.passSlowly(3n * HOUR + 2n * SECOND, 10n * SECOND);
  assert.deepEqual(await subjects(server, "rotation.failed"), [], "one failure is none");
  for (const place of places) {
    await server.passUntil(() => isOpen(server, "rotation.failed", place), MINUTE);
  }
  await server.time.passSlowly(2n * HOUR, 5n * MINUTE);
  assert.deepEqual((await subjects(server, "rotation.overdue")).toSorted(), places);
  // They are known again after a restart, before anything is tried.
  await server.crash();
  assert.deepEqual((await subjects(server, "rotation.failed")).toSorted(), places);
  control.faults.remove(fault);
  for (const place of places) {
    for (const code of ["rotation.failed", "rotation.overdue"]) {
      await server.passUntil(async () => !(await isOpen(server, code, place)), 5n * MINUTE);
    }
  }
  // What is gone concerns nobody.
  control.fault({ ...refusal, kind: "error", times: null });
  await server.passUntil(() => isOpen(server, "rotation.failed", places[1] ?? ""), 10n * MINUTE);
  await server.must("DELETE", "clouda/static-roles/app");
  assert.equal(await isOpen(server, "rotation.failed", places[1] ?? ""), false);
});

test("PV55: a rotation of the secret of cloud B that fails is told until it is done", async (t) => {
  const server = await cloudbServer(t);
  const { control } = server.fake;
  await server.configure(NIGHTLY);
  const denied = { status: 403, code: "Authorization_RequestDenied" };
  const effect = { kind: "refuse", ...denied } as const;
  control.fault({ action: "addApplicationPassword", effect, times: 6 }); // for an hour
  await server.passUntil(() => isOpen(server, "rotation.failed", "cloudb/config"), 5n * MINUTE);
  await server.passUntil(() => isOpen(server, "rotation.overdue", "cloudb/config"), 5n * MINUTE);
  for (const code of ["rotation.failed", "rotation.overdue"]) {
    await server.passUntil(async () => (await subjects(server, code)).length === 0, 5n * MINUTE);
  }
});
