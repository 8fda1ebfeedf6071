import assert from "node:assert/strict";
import test from "node:test";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import type { LoginOffer } from "@holdfast/shared/endpoint/lease";
import {
  type RequestContext,
  type MountRef,
  ROOT_NAMESPACE,
} from "@holdfast/shared/endpoint/request";
import { CONTEXT } from "../../../tests/support/answering.ts";
import {
  HOUR,
  madeTokens,
  MINUTE,
  refused,
  TEAM,
} from "../../../tests/support/made/made-tokens.ts";
import { LoginTokens, renewedWithin } from "./login-tokens.ts";
import type { TokensOptions } from "../tokens.ts";

const MOUNT: MountRef = {
  uuid: "6f0d5d6c-3d53-4a4e-9a0a-0f4a3c7d2b11",
  accessor: "userpass_1",
  type: "userpass",
  path: "auth/people/staff/",
  namespace: ROOT_NAMESPACE,
  local: false,
  readable: { request: new Set(), response: new Set() },
  engine: null,
};
const ADA: LoginOffer = { displayName: "ada", policies: ["dev"], metadata: { username: "ada" } };

async function made(more: Partial<TokensOptions> = {}) {
  const all = await madeTokens(more);
  const { tokens, world } = all;
  const tuned = { usual: 2n * HOUR, max: 8n * HOUR, there: true };
  const byUuid = (uuid: string) => {
    assert.equal(uuid, MOUNT.uuid);
    return tuned.there ? { defaultTtl: () => tuned.usual, maxTtl: () => tuned.max } : null;
  };
  const logins = new LoginTokens({
    tokens,
    clock: world.clock,
    mounts: { byUuid },
    max: 24n * HOUR,
  });
  const login = (offer: Partial<LoginOffer> = {}, context: Partial<RequestContext> = {}) =>
    logins.login(
      { ...ADA, ...offer },
      {
        ...CONTEXT,
        path: CanonicalPath.of(["auth", "people", "staff", "login", "ada"]),
        mount: MOUNT,
        ...context,
      },
    );
  return { ...all, tuned, login };
}

test("a login makes a client token of its own, with what the method grants", async () => {
  const { login, tokens } = await made();
  const { auth, warnings } = await login({ uses: 5 });
  assert.deepEqual(warnings, []);
  const caller = tokens.find(auth.client_token);
  assert.ok(caller !== null);
  assert.equal(caller.name, "people-staff-ada");
  assert.deepEqual(caller.policies, ["dev"]);
  assert.equal(caller.type, "client");
  assert.equal(caller.global, false);
  assert.deepEqual(auth, {
    client_token: auth.client_token,
    accessor: caller.accessor,
    policies: ["default", "dev"],
    token_policies: ["default", "dev"],
    metadata: { username: "ada" },
    lease_duration: 7200,
    renewable: true,
    token_type: "service",
    entity_id: "",
    orphan: true,
    num_uses: 5,
  });
  const token = tokens.byAccessor("root", caller.accessor);
  assert.equal(token?.terms?.path, "auth/people/staff/login/ada");
});

test("it lives as long as the role says, else as the mount says, and never longer than either bound", async () => {
  const { login, tuned } = await made();
  const seconds = async (offer: Partial<LoginOffer>) => (await login(offer)).auth.lease_duration;
  assert.equal(await seconds({}), 7200);
  assert.equal(await seconds({ ttl: 0n, maxTtl: 0n, period: 0n }), 7200);
  assert.equal(await seconds({ ttl: HOUR }), 3600);
  assert.equal(await seconds({ maxTtl: 30n * MINUTE }), 1800);
  assert.equal(await seconds({ period: 10n * MINUTE, ttl: HOUR }), 600);
  const periodic = await login({ period: 9n * HOUR });
  assert.equal(periodic.auth.lease_duration, 8 * 3600);
  assert.deepEqual(periodic.warnings, [
    "the period of 9h0m0s was cut to 8h0m0s, the longest that its mount allows",
  ]);
  assert.deepEqual(renewedWithin({ period: 9n * HOUR, ttl: HOUR }, { maxTtl: () => HOUR }), {
    period: HOUR,
    ttl: HOUR,
  });
  assert.equal(renewedWithin(null, { maxTtl: () => HOUR }), null);
  const cut = await login({ ttl: 9n * HOUR });
  assert.equal(cut.auth.lease_duration, 8 * 3600);
  assert.deepEqual(cut.warnings, [
    "the lifetime of 9h0m0s was cut to 8h0m0s, the longest that is allowed here",
  ]);
  tuned.max = 768n * HOUR;
  tuned.usual = 768n * HOUR;
  const usual = await login();
  assert.deepEqual([usual.auth.lease_duration, usual.warnings], [24 * 3600, []]);
});

test("renewals end at the bound that held at the login", async () => {
  const { login, tokens, world } = await made();
  const { auth } = await login({ ttl: HOUR, maxTtl: 90n * MINUTE });
  const end = world.clock.now() + 90n * MINUTE;
  world.clock.pass(50n * MINUTE);
  const renewed = await tokens.writes.renew("root", auth.accessor, null);
  assert.equal(renewed.expires, end);
});

test("a method may make global tokens, and others than the default policy", async () => {
  const { login, tokens } = await made();
  const { auth } = await login({ global: true, withoutDefaultPolicy: true });
  assert.deepEqual(auth.policies, ["dev"]);
  assert.equal(tokens.find(auth.client_token)?.global, true);
  const bare = await login({ policies: [] });
  assert.deepEqual(bare.auth.policies, ["default"]);
});

test("a token lives in the namespace of the login", async () => {
  const { login, tokens } = await made();
  const { auth } = await login({}, { namespace: TEAM });
  assert.equal(tokens.find(auth.client_token)?.namespace.path, "team");
});

test("T-B20: a login that is refused makes no token", async () => {
  const { login, tokens, tuned } = await made();
  const before = tokens.tableIndex("root");
  const rows: [Partial<LoginOffer>, RegExp][] = [
    [{ policies: ["Root"] }, /"root" cannot be attached/],
    [{ policies: ["no name"] }, /invalid policy name/],
    [{ policies: [], withoutDefaultPolicy: true }, /missing policies/],
  ];
  for (const [offer, says] of rows) await assert.rejects(login(offer), refused(says));
  tuned.there = false;
  await assert.rejects(login(), refused("unsupported path", "not-found"));
  assert.equal(tokens.tableIndex("root"), before);
});

test("names of mount and person together are cut to what a token may be called", async () => {
  const { login, tokens } = await made();
  const { auth } = await login({ displayName: "é".repeat(300) });
  const name = tokens.find(auth.client_token)?.name ?? "";
  assert.ok(name.startsWith("people-staff-éé") && Buffer.byteLength(name) <= 256);
});

test("a token that is bound to places says so, and keeps it when it is read again", async () => {
  const { login, tokens } = await made();
  const { auth } = await login({ boundTo: ["10.0.0.0/8"] });
  const { boundTo } = tokens.find(auth.client_token) ?? {};
  assert.deepEqual([boundTo?.has("10.1.1.1"), boundTo?.has("11.1.1.1")], [true, false]);
  assert.equal(tokens.find((await login()).auth.client_token)?.boundTo, undefined);
});

test("a mount that was closed while somebody logged in hands out nothing", async () => {
  const open = { yes: true };
  const { login } = await made({ logins: { isOpen: () => open.yes, at: () => [] } });
  await login();
  open.yes = false;
  await assert.rejects(login(), refused("unsupported path", "not-found"));
});
