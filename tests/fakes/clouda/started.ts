// A fake for one test, with clients on it.

import assert from "node:assert/strict";
import { type FakeCloudA, type FakeCloudAOptions, startFakeCloudA } from "./fake.ts";
import { type RawAnswer, RawClient, type RawKeys } from "./raw-client.ts";

export interface Started {
  readonly fake: FakeCloudA;
  /** As the user `holdfast`. */
  readonly root: RawClient;
  readonly keys: RawKeys;
  /** As the user `holdfast`, and it must succeed. */
  readonly must: (action: string, fields?: Readonly<Record<string, string>>) => Promise<RawAnswer>;
}

interface After {
  after(call: () => Promise<void>): void;
}

export async function started(t: After, options: FakeCloudAOptions = {}): Promise<Started> {
  const fake = await startFakeCloudA(options);
  t.after(() => fake.close());
  const keys = { accessKeyId: fake.accessKeyId, secretAccessKey: fake.secretAccessKey };
  const root = new RawClient(fake.url, keys);
  const must = async (action: string, fields: Readonly<Record<string, string>> = {}) =>
    succeeded(await root.send(action, fields));
  return { fake, root, keys, must };
}

export function succeeded(answer: RawAnswer): RawAnswer {
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

export function refused(answer: RawAnswer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.code], [status, code], answer.text);
}

export const POLICY = JSON.stringify({
  Version: "2012-10-17",
  Statement: [{ Effect: "Allow", Action: "s3:GetObject", Resource: "*" }],
});
