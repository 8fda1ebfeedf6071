// How long requests to a built-in engine take while a plugin of the same server does badly.

import { setTimeout as pause } from "node:timers/promises";
import { type Caller, call, requestBytes } from "../api/api-caller.ts";
import { pacedLoad } from "../load/paced-load.ts";
import { quantile, roundMillis, rounds } from "../measure.ts";
import type { Context, Figure, Figures } from "../row.ts";
import { mount, NAME, pluginPid, withPlugins } from "./node.ts";

const LARGE = 80 * 2 ** 20;
const AT_ONCE = 16;
const KILLED_EVERY_MS = 250;

/** What goes on until it is told to end. */
type Evil = (caller: Caller, signal: AbortSignal) => Promise<void>;

async function ask(
  { url, headers }: Caller,
  path: string,
  signal: AbortSignal,
  status?: number,
): Promise<void> {
  try {
    const answer = await fetch(`${url}/v1/plugin/${path}`, { headers, signal });
    const text = await answer.text();
    if (status !== undefined && answer.status !== status) {
      throw new Error(`GET ${path} was answered ${answer.status}: ${text.slice(0, 500)}`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const EVILS: Readonly<Record<string, Evil>> = {
  "answers of 80 MiB, which are refused": async (caller, signal) => {
    while (!signal.aborted) await ask(caller, `large?size=${LARGE}`, signal, 502);
  },
  [`${AT_ONCE} requests that never end`]: async (caller, signal) => {
    await Promise.all(Array.from({ length: AT_ONCE }, () => ask(caller, "waits", signal)));
  },
  "its process killed four times a second": async (caller, signal) => {
    while (!signal.aborted) {
      const pid = await pluginPid(caller).catch(() => null);
      if (pid !== null) process.kill(pid, "SIGKILL");
      await ask(caller, "nothing", signal);
      await pause(KILLED_EVERY_MS);
    }
  },
};

export async function others(context: Context): Promise<Figures> {
  return await withPlugins(context, async ({ caller }) => {
    await mount(caller, "plugin");
    await call(caller, "POST", "sys/mounts/builtin", { type: "kv", options: { version: "1" } });
    await call(caller, "POST", "builtin/a", { value: "one" });
    const reads = async () => {
      const over = pause(roundMillis(context, 3000));
      const request = requestBytes(caller, "GET", "builtin/a");
      return quantile(await pacedLoad(new URL(caller.url), request, over), 0.99);
    };
    const before = await rounds(context, reads);
    await call(caller, "POST", "plugin/floods", {});
    const flooded = await rounds(context, reads);
    await call(caller, "POST", "sys/plugins/reload/backend", { plugin: NAME });
    const also: Figure[] = [];
    for (const [what, evil] of Object.entries(EVILS)) {
      const over = new AbortController();
      const doing = evil(caller, over.signal);
      try {
        also.push({ what, unit: "ms", samples: await rounds(context, reads) });
      } finally {
        over.abort();
        await doing;
      }
    }
    const usual = quantile(before, 0.5);
    return {
      samples: flooded,
      also: [
        { what: "with a plugin that is quiet", unit: "ms", samples: before },
        {
          what: "flooded / quiet",
          unit: "×",
          samples: flooded.map((one) => one / usual),
          budget: { atMost: 2 },
        },
        ...also,
      ],
    };
  });
}
