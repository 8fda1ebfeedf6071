// The control of the fake over HTTP, for a server in another process.

import type { Control } from "./control.ts";
import type { FaultOptions, Throttle } from "./faults.ts";
import type { Visibility } from "./settings.ts";

export interface ControlAnswer {
  readonly status: number;
  readonly value: unknown;
}

interface Named {
  readonly name: string;
}

type Change = (control: Control, body: string) => unknown;

const CHANGES: Readonly<Record<string, Change>> = {
  faults: (control, body) => ({ id: control.fault(read<FaultOptions>(body)) }),
  throttle: (control, body) => control.throttle(read<Throttle | null>(body)),
  visibility: (control, body) => control.visibility(read<Partial<Visibility>>(body)),
  pages: (control, body) => control.pageSize(read<{ size: number | null }>(body).size),
  clock: (control, body) =>
    control.clockOffset(read<{ offsetSeconds: number }>(body).offsetSeconds),
  permissions: (control, body) => {
    const { user, ...rules } = read<{ user: string; allow?: string[]; deny?: string[] }>(body);
    control.permissions(user, rules);
  },
  users: (control, body) => {
    const { name, ...options } = read<Named & { allow?: string[]; keys?: number }>(body);
    return control.makeUser(name, options);
  },
  groups: (control, body) => {
    const { name, ...held } = read<
      Named & { attached?: string[]; inline?: Record<string, string> }
    >(body);
    control.makeGroup(name, held);
  },
  roles: (control, body) => {
    const { name, ...options } = read<
      Named & { trust?: object; maxSession?: number; allow?: string[] }
    >(body);
    return { arn: control.makeRole(name, options) };
  },
  policies: (control, body) => {
    const { name, document } = read<Named & { document: object }>(body);
    return { arn: control.makePolicy(name, document) };
  },
  "remove-user": (control, body) => control.removeUser(read<Named>(body).name),
  cut: (control, body) => control.cut(read<{ isCut: boolean }>(body).isCut),
  release: (control) => control.release(),
  calm: (control) => control.calm(),
  "forget-calls": (control) => control.forgetCalls(),
};

const READS: Readonly<Record<string, (control: Control) => unknown>> = {
  state: (control) => control.state(),
  calls: (control) => control.calls(),
  faults: (control) => control.faults.list(),
  held: (control) => ({ held: control.held }),
  secrets: (control) => control.secrets(),
};

export function controlAnswer(
  control: Control,
  method: string,
  url: string,
  body: string,
): ControlAnswer {
  const name = url.slice("/_fake/".length);
  const change = method === "POST" ? CHANGES[name] : undefined;
  const show = method === "GET" ? READS[name] : undefined;
  try {
    if (show !== undefined) return { status: 200, value: show(control) };
    if (change !== undefined) return { status: 200, value: change(control, body) ?? {} };
  } catch (error) {
    return { status: 400, value: { error: String(error) } };
  }
  return { status: 404, value: { error: `no ${method} /_fake/${name}` } };
}

/** Tests are trusted to send what they mean. */
function read<T>(body: string): T {
  return JSON.parse(body) as T;
}
