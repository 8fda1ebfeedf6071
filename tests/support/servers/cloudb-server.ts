// A whole server whose mount cloudb works with a fake of cloud B, both on time that a test moves. What
// the engine waits for between two tries goes by as fast as the calls get on.

import assert from "node:assert/strict";
import type { Nanos } from "@holdfast/shared/world";
import { type FakeCloudB, startFakeCloudB } from "../../fakes/cloudb/fake.ts";
import { EngineServer, type EngineServerOptions, SECOND } from "./engine-server.ts";
import { nextTurn, START } from "../fake-world.ts";
import { type Answer, at, type CallOptions } from "../http-client.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

/** Credentials as an answer shows them. */
export interface Credentials {
  readonly lease: string;
  readonly seconds: number;
  readonly renewable: boolean;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly warnings: readonly string[];
}

export class CloudBServer extends EngineServer {
  readonly fake: FakeCloudB;

  constructor(fake: FakeCloudB, options: EngineServerOptions) {
    super(options);
    this.fake = fake;
  }

  /** Of the fake's only subscription. */
  get scope(): string {
    return `/subscriptions/${this.fake.subscriptionId}`;
  }

  /** The root application's credentials, as the engine is told of them. */
  config(more: object = {}): object {
    const { tenantId, subscriptionId, clientId, clientSecret } = this.fake;
    return {
      tenant_id: tenantId,
      subscription_id: subscriptionId,
      client_id: clientId,
      client_secret: clientSecret,
      ...more,
    };
  }

  async configure(more: object = {}, mount = "cloudb"): Promise<void> {
    await this.must("POST", `${mount}/config`, this.config(more));
  }

  /** A role that assigns Reader on the subscription, unless told otherwise. */
  writeRole(name: string, role: object = {}): Promise<Answer> {
    const roles = JSON.stringify([{ role_name: "Reader", scope: this.scope }]);
    return this.timed(this.ask("POST", `cloudb/roles/${name}`, { cloudb_roles: roles, ...role }));
  }

  async makeRole(name: string, role: object = {}): Promise<void> {
    const answer = await this.writeRole(name, role);
    assert.ok(answer.status < 300, answer.text);
  }

  askCreds(name: string, options: CallOptions = {}): Promise<Answer> {
    return this.timed(this.ask("GET", `cloudb/creds/${name}`, undefined, options));
  }

  async creds(name: string, options: CallOptions = {}): Promise<Credentials> {
    return credentialsIn(await this.askCreds(name, options));
  }

  /** At once, and waits until it is done outside. */
  revokeNow(lease: string): Promise<Answer> {
    return this.timed(this.revoke(lease, { sync: true }));
  }

  /** What the token endpoint says to these credentials. */
  async logsIn({ clientId, clientSecret }: Credentials): Promise<boolean> {
    const { endpoints, tenantId } = this.fake;
    const fields = {
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
      scope: `${endpoints.arm}/.default`,
    };
    const answer = await fetch(`${endpoints.authority}/${tenantId}/oauth2/v2.0/token`, {
      method: "POST",
      body: new URLSearchParams(fields),
    });
    await answer.arrayBuffer();
    return answer.ok;
  }

  /** What it still does reaches neither the disk nor the provider. */
  override async die(): Promise<void> {
    this.fake.control.cut(true);
    await this.timed(super.die());
    this.fake.control.cut(false);
  }

  /** Time passes in steps, each with time for the calls that it sets off. */
  async pass(length: Nanos, step: Nanos = 5n * SECOND): Promise<void> {
    for (let left = length; left > 0n; left -= step) {
      await this.time.passSlowly(left < step ? left : step, step);
      await this.#quiet();
    }
  }

  /** Time passes, half a second after the other, until this has come to an end. */
  async timed<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const ended = () => {
      over = true;
    };
    work.then(ended, ended);
    for (let i = 0; !over; i++) {
      assert.ok(i < 20_000, "this never came to an end");
      // Calls that are under way get on first: nothing of theirs may run into a time-out.
      await this.#quiet();
      if (!over) await this.time.passSlowly(SECOND / 2n, SECOND / 2n);
    }
    return work;
  }

  /** Until the fake has answered all that it was asked, and for some turns nothing more has come. */
  async #quiet(): Promise<void> {
    for (let turns = 0; turns < 50; turns++) {
      await nextTurn();
      if (this.fake.control.tenant.working > 0) turns = 0;
    }
  }
}

export interface CloudBServerOptions extends Omit<EngineServerOptions, "environment"> {
  /** Variables that the engine looks for. Default none. */
  readonly environment?: (fake: FakeCloudB) => Readonly<Record<string, string>>;
  /** Default true: the mount is told of the fake's root application. */
  readonly configured?: boolean;
}

/** Open and unsealed, and cloudb is configured. */
export async function cloudbServer(
  t: After,
  { configured = true, settings, environment = () => ({}), ...options }: CloudBServerOptions = {},
): Promise<CloudBServer> {
  let server: CloudBServer | null = null;
  const now = () => Number((server?.time.clock.now() ?? START) / 1_000_000n);
  const fake = await startFakeCloudB({ now });
  t.after(() => fake.close());
  fake.control.set({ busyMilliseconds: 0 });
  const config = { outbound_allow: ["127.0.0.1"], cloudb_endpoints: fake.endpoints, ...settings };
  server = new CloudBServer(fake, { ...options, settings: config, environment: environment(fake) });
  await server.start();
  t.after(() => server.test.stop());
  await server.open();
  if (configured) await server.configure();
  return server;
}

export function credentialsIn(answer: Answer): Credentials {
  assert.equal(answer.status, 200, answer.text);
  return {
    lease: String(at(answer, "lease_id")),
    seconds: Number(at(answer, "lease_duration")),
    renewable: at(answer, "renewable") === true,
    clientId: String(at(answer, "data", "client_id")),
    clientSecret: String(at(answer, "data", "client_secret")),
    warnings: (at(answer, "warnings") ?? []) as string[],
  };
}
