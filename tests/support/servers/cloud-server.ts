// A whole server whose mount clouda works with a fake of cloud A, both on time that a test moves. What
// the engine waits for between two tries goes by as fast as the calls get on.

import assert from "node:assert/strict";
import { type FakeCloudA, startFakeCloudA } from "../../fakes/clouda/fake.ts";
import { RawClient } from "../../fakes/clouda/raw-client.ts";
import { EngineServer, type EngineServerOptions, MINUTE, SECOND } from "./engine-server.ts";
import { nextTurn, START } from "../fake-world.ts";
import { type Answer, at, type CallOptions } from "../http-client.ts";

interface After {
  after(call: () => Promise<void> | void): void;
}

/** Credentials as an answer shows them. */
export interface CloudACredentials {
  readonly lease: string;
  readonly seconds: number;
  readonly renewable: boolean;
  readonly accessKey: string;
  readonly secretKey: string;
  /** Null for those of a user. */
  readonly sessionToken: string | null;
  /** Of the user that was made; "" for sessions. */
  readonly username: string;
  readonly warnings: readonly string[];
}

export const READ_ONLY = "arn:aws:iam::aws:policy/ReadOnlyAccess";
export const DEPLOY_ROLE = "arn:aws:iam::123456789012:role/deploy";

export class CloudAServer extends EngineServer {
  readonly fake: FakeCloudA;

  constructor(fake: FakeCloudA, options: EngineServerOptions) {
    super(options);
    this.fake = fake;
  }

  /** A `config/root` that leads to the fake. */
  config(more: object = {}): object {
    const { url, accessKeyId, secretAccessKey } = this.fake;
    return {
      access_key: accessKeyId,
      secret_key: secretAccessKey,
      iam_endpoint: url,
      sts_endpoint: url,
      ...more,
    };
  }

  async configure(more: object = {}, mount = "clouda"): Promise<void> {
    await this.must("POST", `${mount}/config/root`, this.config(more));
  }

  writeRole(name: string, role: object, mount = "clouda"): Promise<Answer> {
    return this.ask("POST", `${mount}/roles/${name}`, role);
  }

  /** One that makes users who may read, unless told otherwise. */
  async makeRole(name: string, role: object = {}, mount = "clouda"): Promise<void> {
    const usual = { credential_type: "iam_user", policy_arns: [READ_ONLY] };
    const answer = await this.writeRole(name, { ...usual, ...role }, mount);
    assert.ok(answer.status < 300, answer.text);
  }

  /** `place` such as "clouda/creds/r" or "clouda/sts/r?ttl=20m". */
  askCreds(place: string, options: CallOptions = {}): Promise<Answer> {
    return this.timed(this.ask("GET", place, undefined, options));
  }

  async creds(place: string, options: CallOptions = {}): Promise<CloudACredentials> {
    return cloudaCredentialsIn(await this.askCreds(place, options));
  }

  /** At once, and waits until it is done outside. */
  revokeNow(lease: string): Promise<Answer> {
    return this.timed(this.revoke(lease, { sync: true }));
  }

  /** The users at the provider, without the one whose keys are configured. */
  users(): string[] {
    const { users } = this.fake.control.state();
    return users.map(({ name }) => name).filter((name) => name !== "holdfast");
  }

  user(name: string) {
    const found = this.fake.control.state().users.find((user) => user.name === name);
    assert.ok(found !== undefined, `there is no user ${name}`);
    return found;
  }

  /** Whom the provider takes the holder of these credentials for; the code of its refusal otherwise. */
  async identity(credentials: CloudACredentials): Promise<string> {
    const { accessKey, secretKey, sessionToken } = credentials;
    const keys = { accessKeyId: accessKey, secretAccessKey: secretKey };
    const client = new RawClient(
      this.fake.url,
      sessionToken === null ? keys : { ...keys, sessionToken },
    );
    const answer = await client.send("GetCallerIdentity");
    return /<Arn>([^<]*)</.exec(answer.text)?.[1] ?? answer.code;
  }

  /** A request gets to the provider and the process dies there: before the call has its effect, or
   *  after it; `skip` such calls go by before that. The next process is unsealed. */
  async dieAt(
    action: string,
    when: "before" | "after",
    request: () => Promise<unknown>,
    { skip = 0 } = {},
  ): Promise<void> {
    const { control } = this.fake;
    const id = control.fault({ kind: "hold", action, when, skip });
    void request().catch(() => {});
    await this.timed(control.whenHeld());
    control.faults.remove(id);
    await this.crash();
  }

  /** The wire to the provider is cut as well: nothing gets there from a process that is gone. */
  override async die(): Promise<void> {
    this.fake.control.cut(true);
    await super.die();
    this.fake.control.cut(false);
  }

  /** Time passes, a tenth of a second after the other, until this has come to an end. */
  async timed<T>(work: Promise<T>): Promise<T> {
    let over = false;
    const ended = () => {
      over = true;
    };
    work.then(ended, ended);
    for (let i = 0; !over; i++) {
      assert.ok(i < 50_000, "this never came to an end");
      // Calls that are under way get on first: nothing of theirs may run into a time-out.
      for (let turns = 0; turns < 50 && !over; turns++) await nextTurn();
      if (!over) await this.time.passSlowly(SECOND / 10n, SECOND / 10n);
    }
    return work;
  }

  /** So much time that what was left half-made is undone. */
  async untilRolledBack(holds: () => boolean): Promise<void> {
    await this.time.passSlowly(5n * MINUTE, 15n * SECOND);
    await this.passUntil(holds, SECOND);
  }
}

export interface CloudAServerOptions extends Omit<EngineServerOptions, "environment"> {
  /** Variables that the engine looks for. Default none. */
  readonly environment?: (fake: FakeCloudA) => Readonly<Record<string, string>>;
  /** Default true: the mount is told of the fake and of a key there. */
  readonly configured?: boolean;
}

/** Open and unsealed, and clouda is configured. */
export async function cloudaServer(
  t: After,
  { configured = true, settings, environment = () => ({}), ...options }: CloudAServerOptions = {},
): Promise<CloudAServer> {
  let server: CloudAServer | null = null;
  const now = () => Number((server?.time.clock.now() ?? START) / 1_000_000n);
  const fake = await startFakeCloudA({ now });
  t.after(() => fake.close());
  const config = { outbound_allow: ["127.0.0.1"], ...settings };
  server = new CloudAServer(fake, { ...options, settings: config, environment: environment(fake) });
  await server.start();
  t.after(() => server.test.stop());
  await server.open();
  if (configured) await server.configure();
  return server;
}

export function cloudaCredentialsIn(answer: Answer): CloudACredentials {
  assert.equal(answer.status, 200, answer.text);
  const token = at(answer, "data", "session_token");
  const username = at(answer, "data", "username");
  return {
    lease: String(at(answer, "lease_id")),
    seconds: Number(at(answer, "lease_duration")),
    renewable: at(answer, "renewable") === true,
    accessKey: String(at(answer, "data", "access_key")),
    secretKey: String(at(answer, "data", "secret_key")),
    sessionToken: typeof token === "string" ? token : null,
    username: typeof username === "string" ? username : "",
    warnings: (at(answer, "warnings") ?? []) as string[],
  };
}
