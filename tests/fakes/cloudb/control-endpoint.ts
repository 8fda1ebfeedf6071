// The control of the fake of cloud B over HTTP, for those who started it as a process: below /_fake/ on
// each of its ports. Bodies and answers are JSON.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Control } from "./control.ts";

interface Orders {
  [order: string]: (control: Control, body: never) => unknown;
}

/** What a POST or DELETE does; what it gives is the answer. */
const ORDERS: Orders = {
  "GET state": (control) => control.state(),
  "GET inventory": (control) => control.inventory(),
  "GET calls": (control) => control.calls(),
  "DELETE calls": (control) => control.clearCalls(),
  "GET secrets": (control) => control.secrets(),
  "GET settings": (control) => control.tenant.settings,
  "POST settings": (control, body: Parameters<Control["set"]>[0]) => control.set(body),
  "POST faults": (control, body: Parameters<Control["fault"]>[0]) => control.fault(body),
  "DELETE faults": (control) => control.clearFaults(),
  "POST clock": (control, { seconds }: { seconds: number }) => control.pass(seconds),
  "POST expire-tokens": (control) => control.expireTokens(),
  "POST permissions": (
    control,
    { clientId, permissions }: { clientId: string; permissions: string[] },
  ) => control.permit(clientId, permissions),
  "POST applications": (
    control,
    { displayName, passwords }: { displayName: string; passwords?: number },
  ) => control.makeApplication(displayName, passwords),
  "POST groups": (control, { displayName }: { displayName: string }) => {
    return { id: control.makeGroup(displayName) };
  },
  "POST users": (control, { displayName }: { displayName: string }) => {
    return { id: control.makeUser(displayName) };
  },
  "POST roles": (control, { roleName, scope }: { roleName: string; scope?: string }) => {
    return { id: control.makeRole(roleName, scope) };
  },
  "POST resource-groups": (control, { name }: { name: string }) => control.makeResourceGroup(name),
  "POST management-groups": (control, { name }: { name: string }) =>
    control.makeManagementGroup(name),
  "POST federated-credentials": (
    control,
    { clientId, ...credential }: { clientId: string } & Parameters<Control["federate"]>[1],
  ) => control.federate(clientId, credential),
  "POST remove": (control, { id }: { id: string }) => control.remove(id),
  "POST held": (control, { after }: { after?: number }) => control.held(after),
  "POST release": (control) => control.release(),
};

export async function answerControl(
  control: Control,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const name = (request.url ?? "").slice("/_fake/".length).split("?")[0] ?? "";
  const order = ORDERS[`${request.method} ${name}`];
  const answer = (status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === undefined ? "{}" : JSON.stringify(body));
  };
  if (order === undefined) return answer(404, { known: Object.keys(ORDERS) });
  try {
    answer(200, await order(control, (text === "" ? {} : JSON.parse(text)) as never));
  } catch (error) {
    answer(400, { error: String(error) });
  }
}
