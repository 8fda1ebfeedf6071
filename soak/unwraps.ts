// Of many who unwrap one token at the same time exactly one gets what it holds, again and again.

import { at } from "../tests/support/http-client.ts";
import { withFreshServer } from "./fresh-server.ts";
import { type Result, resultOf } from "./result.ts";

export interface UnwrapsOptions {
  readonly rounds: number;
  readonly plant?: "never-taken";
  readonly say: (line: string) => void;
}

const AT_ONCE = 64;

export async function unwraps({ rounds, plant, say }: UnwrapsOptions): Promise<Result> {
  let done = 0;
  const target = () => (plant === undefined ? {} : { plant });
  const wrong = await withFreshServer("unwraps", target, async ({ api }) => {
    const found: string[] = [];
    for (; done < rounds && found.length === 0; done++) {
      // Both forms of a wrapping token, by turns.
      const headers = {
        "X-Service-Wrap-TTL": "60s",
        ...(done % 2 === 0 ? {} : { "X-Service-Wrap-Format": "jwt" }),
      };
      const body = { round: `${done}` };
      const wrapped = await api.expect([200], "POST", "sys/wrapping/wrap", { headers, body });
      const token = String(at(wrapped, "wrap_info", "token"));
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => api.call("POST", "sys/wrapping/unwrap", { token })),
      );
      const granted = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status === 400).length;
      const right = granted.every((answer) => at(answer, "data", "round") === body.round);
      if (granted.length !== 1 || refused !== AT_ONCE - 1 || !right) {
        found.push(`round ${done}: ${answers.map(({ status }) => status).join(" ")}`);
      }
      if ((done + 1) % 25 === 0) say(`${done + 1} rounds`);
    }
    return found;
  });
  const verdict = wrong.length === 0 ? "one answer each" : "something is wrong";
  return resultOf(`${done} × ${AT_ONCE} at once: ${verdict}`, wrong);
}
