// What clusters of this process say to each other: every message of every method that there is, as it is encoded where it is sent.

import type { TestContext } from "node:test";
import * as hello from "../../../../src/cluster/hello.ts";
import * as forwarding from "../../../../src/forwarding/messages.ts";
import * as joining from "../../../../src/replication/joining/calls.ts";
import * as messages from "../../../../src/replication/stream/messages.ts";

interface Codec {
  encode: (value: never) => Uint8Array;
}
interface Method {
  readonly path: string;
  readonly response: Codec;
}

function isMethod(value: unknown): value is Method {
  return typeof value === "object" && value !== null && "path" in value && "response" in value;
}

export interface Said {
  /** Whether an answer to a member had these bytes. */
  readonly has: (bytes: Uint8Array | string) => boolean;
  clear(): void;
}

/** Everything that a primary of this process answers members, but for the list of what is withheld, which they are to know. */
export function captured(t: TestContext): Said {
  const said: Buffer[] = [];
  const all: readonly unknown[] = [hello, forwarding, joining, messages].flatMap((module) =>
    Object.values(module),
  );
  const heard = all.filter(isMethod).filter(({ path }) => path !== messages.withheld.path);
  for (const { response } of heard) {
    const { encode } = response;
    response.encode = (value) => {
      const bytes = encode.call(response, value);
      said.push(Buffer.from(bytes));
      return bytes;
    };
    t.after(() => {
      response.encode = encode;
    });
  }
  return {
    has: (bytes) => said.some((one) => one.includes(bytes)),
    clear: () => {
      said.length = 0;
    },
  };
}
