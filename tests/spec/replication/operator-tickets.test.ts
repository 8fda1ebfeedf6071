// Operator tickets: made on a primary, taken on a disaster-recovery secondary.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { HOUR } from "@holdfast/shared/text/duration";
import { at } from "../../support/http-client.ts";
import { startSecondary } from "../../support/replication/secondary-server.ts";
import { PassingClock } from "../../support/servers/sealed-node.ts";

const TICKET = "/v1/sys/replication/dr/primary/operator-ticket";

test("R-45: a ticket is good for its operation, and not for another, later, or with another signature", async (t) => {
  const clock = new PassingClock();
  const dr = await startSecondary(t, { clock });
  const ticket = await dr.ticket(["promote", "read"]);
  const inBody = await dr.operate("promote", undefined, { dr_operation_token: ticket });
  assert.equal(at(inBody, "data", "by"), "operator ticket");
  const next = await dr.ticket(["promote", "read"]);
  assert.equal((await dr.operate("disable", next)).status, 403);
  const evidence = await dr.server.call("LIST", "/v1/sys/evidence", { token: next });
  assert.equal(evidence.status, 200, evidence.text);
  const forged = `${next.slice(0, -1)}${next.endsWith("A") ? "B" : "A"}`;
  const changed = next.replace(/\.e/, ".f");
  for (const other of [forged, changed])
    assert.equal((await dr.operate("promote", other)).status, 403);
  clock.ahead += HOUR;
  assert.equal((await dr.operate("promote", next)).status, 403);
});

test("R-45: a role is changed with a ticket once", async (t) => {
  const dr = await startSecondary(t);
  const ticket = await dr.ticket(["promote", "disable"]);
  assert.equal((await dr.operate("promote", ticket)).status, 200);
  assert.equal((await dr.operate("promote", ticket)).status, 403);
  assert.equal((await dr.operate("disable", ticket)).status, 403);
});

test("R-45: who holds a ticket of the set hears why it is not taken, and nobody else does", async (t) => {
  const clock = new PassingClock();
  const dr = await startSecondary(t, { clock });
  const ticket = await dr.ticket(["promote"]);
  const why = async (operation: string, text: string) => {
    const answer = await dr.operate(operation, text);
    assert.equal(answer.status, 403, answer.text);
    assert.equal(answer.headers["x-service-error"], "invalid_operation_token");
    return String(at(answer, "errors", 1));
  };
  assert.match(await why("disable", ticket), /: this ticket is for promote and not for disable/);
  const forged = `${ticket.slice(0, -1)}${ticket.endsWith("A") ? "B" : "A"}`;
  assert.equal(await why("disable", forged), "invalid operation token");
  assert.equal((await dr.operate("promote", ticket)).status, 200);
  assert.match(await why("promote", ticket), /: this operator ticket was used already/);
  const late = await dr.ticket(["promote"]);
  clock.ahead += HOUR;
  assert.match(await why("promote", late), /: this ticket has ended/);
});

test("R-45: who has a ticket can end it", async (t) => {
  const dr = await startSecondary(t);
  const ticket = await dr.ticket(["promote", "operation-token"]);
  assert.equal((await dr.operate("operation-token/delete", ticket)).status, 204);
  assert.equal((await dr.operate("promote", ticket)).status, 403);
  const other = await dr.ticket(["promote"]);
  assert.equal((await dr.operate("operation-token/delete", other)).status, 403, "not for that");
});

test("R-45: tickets are made by who has sudo, on a primary, for a day at most", async (t) => {
  const alone = await startSecondary(t, { inSet: false });
  alone.role.mode = null;
  const none = await alone.server.call("POST", TICKET, {
    token: alone.root,
    body: { operations: ["promote"] },
  });
  assert.equal(none.status, 400, none.text);
  const dr = await startSecondary(t);
  const make = (body: object, token: string | undefined = dr.root) =>
    dr.server.call("POST", TICKET, { token, body });
  const body = { operations: ["promote"] };
  assert.equal((await make(body)).status, 400, "a secondary");
  dr.role.mode = null;
  const made = await make({ operations: "promote,disable", ttl: "30m" });
  assert.equal(made.status, 200, made.text);
  assert.deepEqual(at(made, "data", "operations"), ["promote", "disable"]);
  for (const wrong of [
    {},
    { operations: [] },
    { operations: ["demote"] },
    { ...body, ttl: "25h" },
    { ...body, ttl: 0 },
  ]) {
    assert.equal((await make(wrong)).status, 400, JSON.stringify(wrong));
  }
  await dr.server.call("POST", "/v1/sys/policies/acl/no-sudo", {
    token: dr.root,
    body: { policy: 'path "sys/replication/*" { capabilities = ["update"] }' },
  });
  const client = await dr.server.call("POST", "/v1/auth/token/create", {
    token: dr.root,
    body: { policies: ["no-sudo"] },
  });
  const denied = await make(body, String(at(client, "auth", "client_token")));
  assert.equal(denied.status, 403, denied.text);
});

test("R-45: no record and no line of the log has a ticket", async (t) => {
  const dr = await startSecondary(t);
  dr.role.mode = null;
  const file = join(dr.server.auditDirectory, "file.log");
  const body = { type: "file", options: { file_path: file } };
  await dr.server.call("POST", "/v1/sys/audit/file", { token: dr.root, body });
  const ticket = await dr.ticket(["promote"]);
  dr.role.mode = "secondary";
  await dr.operate("promote", ticket);
  await dr.operate("promote", undefined, { dr_operation_token: ticket });
  const kept = readFileSync(file, "utf8") + dr.server.lines.join("\n");
  assert.match(kept, /operator-ticket/);
  assert.ok(!kept.includes(ticket.slice(0, 60)));
});
