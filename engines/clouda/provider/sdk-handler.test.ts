import assert from "node:assert/strict";
import test from "node:test";
import {
  type OutboundAnswer,
  OutboundError,
  type OutboundRequest,
} from "@holdfast/plugin-sdk/outbound";
import { NO_SERVICES } from "@holdfast/plugin-sdk/engine-services";
import { ProviderError } from "../../cloud/provider-error.ts";
import { SdkHandler } from "./sdk-handler.ts";

const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

interface Answered {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function handled(answer: Answered | OutboundError) {
  const sent: OutboundRequest[] = [];
  const send = async (request: OutboundRequest): Promise<OutboundAnswer> => {
    sent.push(request);
    if (answer instanceof OutboundError) throw answer;
    const { status = 200, headers = {}, body = "" } = answer;
    return { status, headers, body: Buffer.from(body) };
  };
  const handler = new SdkHandler({
    outbound: { ...NO_SERVICES.outbound, send },
    service: "iam",
    plain: false,
    identity: "1",
    secrets: () => [SECRET],
  });
  const request = {
    method: "POST",
    protocol: "https:",
    hostname: "iam.amazonaws.com",
    path: "/",
    headers: { host: "iam.amazonaws.com", "content-length": "5", authorization: "signed" },
    body: "Action=DeleteUser&Version=2010-05-08&UserName=x",
  };
  try {
    const { response } = await handler.handle(request);
    return { response, sent, error: null };
  } catch (error) {
    assert.ok(error instanceof ProviderError);
    return { response: null, sent, error };
  }
}

function refusal(code: string, message = ""): string {
  return (
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code>` +
    `<Message>${message}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>`
  );
}

const OK =
  "<DeleteUserResponse><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></DeleteUserResponse>";

test("a request goes out as it was signed, but for what its sender says of it anyhow", async () => {
  const { response, sent } = await handled({ body: OK });
  assert.equal(response?.statusCode, 200);
  const [request] = sent;
  assert.equal(request?.url.href, "https://iam.amazonaws.com/");
  assert.deepEqual(request?.headers, { authorization: "signed" });
  assert.equal(request?.identity, "1");
  assert.equal(request?.metadata, undefined);
});

test("an error is judged by its code and status", async () => {
  const cases = [
    [400, refusal("Throttling", "Rate exceeded"), "throttled", "Throttling"],
    [429, "", "throttled", "HTTP 429"],
    [409, refusal("LimitExceeded"), "refused", "LimitExceeded"],
    [403, refusal("AccessDenied"), "refused", "AccessDenied"],
    [403, "<html>proxy</html>", "refused", "HTTP 403"],
    [500, refusal("ServiceFailure"), "unknown", "ServiceFailure"],
    [503, "", "unknown", "HTTP 503"],
    [302, "", "unknown", "HTTP 302"],
  ] as const;
  for (const [status, body, kind, code] of cases) {
    const { error } = await handled({ status, body });
    assert.deepEqual([error?.kind, error?.code, error?.step], [kind, code, "iam:DeleteUser"]);
  }
});

test("T-I07: only NoSuchEntity says that it is gone, and only as an error", async () => {
  assert.equal((await handled({ status: 404, body: refusal("NoSuchEntity") })).error?.gone, true);
  assert.equal((await handled({ status: 404, body: "" })).error?.gone, false);
  const lie = await handled({ status: 200, body: refusal("AccessDenied", "no") });
  assert.deepEqual([lie.error?.kind, lie.error?.code], ["unknown", "AccessDenied"]);
  for (const body of ["", "<html></html>", "<CreateUserResponse></CreateUserResponse>"]) {
    const { error } = await handled({ body });
    assert.deepEqual([error?.kind, error?.code], ["unknown", "UnexpectedAnswer"]);
  }
});

test("T-I15: an answer with a declaration in it is none", async () => {
  const { error } = await handled({ body: `<!DOCTYPE DeleteUserResponse>${OK}` });
  assert.equal(error?.code, "UnexpectedAnswer");
});

test("T-I06: what the provider echoes of our secret is not told", async () => {
  const echo = refusal("SignatureDoesNotMatch", `String to sign with ${SECRET}`);
  const headers = { "x-amzn-requestid": SECRET, location: `https://x/?s=${SECRET}` };
  for (const status of [200, 302, 403, 500]) {
    const { error } = await handled({ status, headers, body: echo });
    assert.ok(error !== null && !`${error.message}${error.stack}`.includes(SECRET));
  }
});

test("an answer that never came may have had its effect, unless nothing was sent", async () => {
  const kinds = [];
  for (const trouble of ["forbidden", "unreachable", "lost", "oversized", "aborted"] as const) {
    const { error } = await handled(new OutboundError(trouble, "host x"));
    kinds.push(error?.kind);
  }
  assert.deepEqual(kinds, ["forbidden", "unreachable", "unknown", "unknown", "unknown"]);
});

test("what the provider asks to be waited for is read in seconds", async () => {
  const waiting = async (text: string) =>
    (await handled({ status: 429, headers: { "retry-after": text } })).error?.retryAfter;
  assert.equal(await waiting("30"), 30);
  assert.equal(await waiting("Wed, 21 Oct 2026 07:28:00 GMT"), null);
});
